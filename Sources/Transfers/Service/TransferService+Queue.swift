import Clock
import Logging
import Mounts
import NightshiftAPI
import Scheduler
import Store

/// The start of transfers: from waiting rows to running transfers.
extension TransferService {
    /// The part of the store's content that one scheduling decision needs.
    private struct Queue: Sendable {
        var lanes: [Lane] = []
        /// The requirements of each per-origin queue's tasks that are ready to start. The device state is not
        /// considered.
        var rules: [LaneID: [TransferRules]] = [:]
        /// The first tasks of each per-origin queue that the device state allows.
        var candidates: [LaneID: (small: [Admission.Candidate], large: [Admission.Candidate])] = [:]
        var times = QueueTimes()

        /// Returns the requirement classes of the tasks that wait in a per-origin queue.
        func classes(of lane: Lane) -> [RequirementClass] {
            let isLoopback = Loopback.contains(origin: lane.origin)
            return (rules[lane.id] ?? []).map { RequirementClass(rules: $0, isLoopback: isLoopback) }
        }

        var classes: [RequirementClass] { lanes.flatMap { classes(of: $0) } }
    }

    /// Starts all transfers that may start, and sets the alarm for the next change that depends on time.
    func schedule() async {
        guard admissions.loop.begin() else { return }
        while admissions.loop.next(isStopping: isStopping) {
            do {
                try await scheduleOnce()
            } catch {
                storeFailed(error)
            }
        }
    }

    private func scheduleOnce() async throws(StoreError) {
        if let paused = admissions.pausedUntil, paused > now.bootSeconds {
            setAlarm(at: paused)
            return
        }
        admissions.pausedUntil = nil
        try await setAsideUnreadable()
        if try await trySuspects() { return try await waitForTrial() }
        if finishing.settlesAfterTrials { try await takeUpFinishing() }
        var queue = try await readQueue()
        if try await releaseDue(queue.times) { queue = try await readQueue() }
        let now = now
        let running = Dictionary(grouping: placeHolders) { $0.record.lane }.mapValues {
            $0.map { $0.running(admissions.yields) }
        }
        let lanes = queue.lanes.map { admissionLane($0, queue, running[$0.id] ?? [], now.bootSeconds) }
        admissions.turns.keep(queue.lanes.map(\.id))
        admissions.look.note(Dictionary(uniqueKeysWithValues: zip(queue.lanes.map(\.id), lanes)))
        admissions.heldClasses.update(queue.classes, bounds.moment, now)
        let plan = Admission.plan(
            lanes: lanes, maximumTransfers: bounds.limits.maximumTransfers, now: now.bootSeconds,
            isTurnOfFailed: admissions.turns.isTurnOfFailed)
        for id in plan.makeRoom { interrupt(id, .smallerFirst) }
        for id in plan.yield { yieldPlace(of: id, now) }
        setAlarm(at: nextDeadline(queue, plan, now))
        defer { reportActivity(queue) }
        guard !plan.start.isEmpty else { return await spreadConnections() }
        claims.beginStarting(plan.start)
        defer {
            claims.endStarting(plan.start)
            for id in plan.start { claims.wakeWaiters(for: id) }
        }
        let records = try await store.read { transaction in
            try plan.start.compactMap { try transaction.readableTask($0) }
        }
        // A row that cannot be read must not use up the connection slot of another task.
        if records.count < plan.start.count { admissions.loop.request() }
        await makeWay(for: records)
        // The device state may have changed since the queue was read. A task that was running then may be paused now.
        for record in records where !isStopping && isReady(record) {
            guard !admissions.trials.crashSuspects.contains(record.id) else { continue }
            await begin(record)
        }
    }

    /// Returns whether the task can start now, judged by its row, its owner's requests and the device state.
    func isReady(_ record: TaskRecord) -> Bool {
        record.state == .waiting && record.question == nil && record.beginAt == nil && !claims.isHeld(record)
            && record.notBefore ?? 0 <= now.bootSeconds && !bounds.isSleeping && bounds.hold(record) == nil
    }

    /// Waits for the isolated retry of crash suspects. No other task starts, but deadlines of waiting tasks still
    /// apply.
    private func waitForTrial() async throws(StoreError) {
        _ = try await releaseDue(try await store.read { try $0.nextTimes() })
        let times = try await store.read { try $0.nextTimes() }
        let now = now.bootSeconds
        // If a task could not be ended now, the service tries again with the next change.
        let next = [times.relaxesAt, times.deadline].compactMap(\.self).filter { $0 > now }
        setAlarm(at: next.reduce(admissions.trials.trial?.until ?? now, min))
    }

    /// Reports the activity that keeps maintenance windows of doze open.
    private func reportActivity(_ queue: Queue) {
        let now = now.bootSeconds
        var discretionary = active.values.count { $0.record.needs.worksInWindow }
        for lane in queue.lanes where allowance(way(of: lane), now) > 0 {
            discretionary += queue.classes(of: lane).count { $0.wantsWindow(bounds.moment.conditions) }
        }
        if admissions.look.note(discretionary: discretionary) { environment.activity(admissions.look.activity) }
    }

    /// Ends waits and tasks whose time has come, and relaxes the requirements of other tasks. Returns false if nothing
    /// was due.
    private func releaseDue(_ times: QueueTimes) async throws(StoreError) -> Bool {
        let now = now
        var isReleased =
            times.notBefore ?? .infinity <= now.bootSeconds || times.beginAt ?? .infinity <= now.wallSeconds
        if isReleased {
            try await store.write { try $0.releaseDue(bootSeconds: now.bootSeconds, wallSeconds: now.wallSeconds) }
        }
        if times.relaxesAt ?? .infinity <= now.bootSeconds {
            try await loosenDue(now)
            isReleased = true
        }
        guard times.deadline ?? .infinity <= now.bootSeconds else { return isReleased }
        let overdue = try await store.read { try $0.overdueTasks(bootSeconds: now.bootSeconds, limit: 1_000) }
        // A task that cannot be ended now does not block the queue. The service tries to end it again with the next
        // change.
        for id in overdue where !finishing.contains(id) {
            // A running task has to stop first, which may take long on a slow disk. When the task has ended, the next
            // scheduling pass follows.
            guard active[id] == nil else {
                interrupt(id, .starting)
                continue
            }
            guard await timeOut(id) else { break }
        }
        if overdue.count == 1_000 { admissions.loop.request() }
        return true
    }

    /// Relaxes the requirements of tasks that have used a certain share of their time.
    private func loosenDue(_ now: ClockReading) async throws(StoreError) {
        let limit = 1_000
        let loosened = try await store.write { transaction in
            try transaction.tasksToLoosen(bootSeconds: now.bootSeconds, limit: limit).map { record in
                var record = record
                for entry in self.apply(.loosen, to: &record, now: now) { try transaction.record(entry) }
                try transaction.putRules(record)
                return record
            }
        }
        for record in loosened where active[record.id] != nil {
            active[record.id]?.record.discretion = record.discretion
        }
        if loosened.count == limit { admissions.loop.request() }
    }

    private func readQueue() async throws(StoreError) -> Queue {
        // Rows of running tasks still say 'waiting', so the query reads that many additional rows.
        let margin = active.count + finishing.count + claims.count + leftExchanges.count
        let limit = bounds.limits.maximumTransfers
        return try await store.read { [moment = bounds.moment, held = claims.sessions] transaction in
            var queue = Queue()
            queue.times = try transaction.nextTimes()
            queue.lanes = try transaction.readyLanes()
            // Per-origin queues of blocked sessions start no transfers, but their running transfers still count.
            for lane in queue.lanes where !held.contains(lane.session) {
                queue.rules[lane.id] = try transaction.readyRules(lane: lane.id)
                let allowed = queue.classes(of: lane).filter { $0.hold(moment) == nil }.map(\.rules)
                let wanted = min(lane.maximumConnections, limit) + margin
                queue.candidates[lane.id] = (
                    try transaction.heads(lane.id, allowed, isLarge: false, limit: wanted),
                    try transaction.heads(lane.id, allowed, isLarge: true, limit: wanted)
                )
            }
            return queue
        }
    }

    private func admissionLane(
        _ lane: Lane, _ queue: Queue, _ running: [Admission.Running], _ now: Double
    ) -> Admission.Lane {
        let rows = queue.candidates[lane.id]
        return Admission.Lane(
            maximumConnections: lane.maximumConnections, running: running,
            small: candidates(rows?.small, now), large: candidates(rows?.large, now),
            allowance: allowance(way(of: lane), now), isTurnOfFailed: admissions.turns.isTurnOfFailed(in: lane.id),
            origin: lane.origin)
    }

    /// Returns the candidates that are neither running nor about to start.
    private func candidates(_ rows: [Admission.Candidate]?, _ now: Double) -> [Admission.Candidate] {
        (rows ?? []).filter { !isBusy($0.id) }.map { row in
            var row = row
            row.isLast = admissions.yields.isLast(row.id, at: now)
            return row
        }
    }

    /// Gives the connection slot of a slow transfer to other tasks for a while.
    private func yieldPlace(of id: TaskID, _ now: ClockReading) {
        guard let transfer = active[id], let since = transfer.pace.slowSince else { return }
        let pause = admissions.yields.yielded(id, at: now.bootSeconds)
        let slowness = RunningTransferText.Slowness(seconds: now.bootSeconds - since, minimum: pace(leastOf: transfer))
        interrupt(id, .yield(until: now.bootSeconds + pause, detail: slowness.sentence))
    }

    /// Returns the rate in bytes per second below which a transfer is slow.
    func pace(leastOf transfer: ActiveTransfer) -> Double {
        Pace.minimum(
            ownLimit: transfer.record.request.rateLimit, serviceLimit: bounds.limits.rateLimit,
            transfers: bounds.limits.maximumTransfers)
    }

    /// Measures the rate of each running transfer.
    ///
    /// - Returns: whether a transfer has become slow, or has stopped being slow.
    func readPaces() -> Bool {
        let time = now.bootSeconds
        var hasChanged = false
        for (id, transfer) in active {
            let count = transfer.count
            active[id]?.speed.read(count, at: time)
            let gap = Pace.gap(
                ownLimit: transfer.record.request.rateLimit, serviceLimit: bounds.limits.rateLimit,
                running: active.count)
            if active[id]?.pace.read(count, at: time, minimum: pace(leastOf: transfer), gap: gap) == true {
                hasChanged = true
            }
            if active[id]?.pace.isSteady == true { admissions.yields.forget(id) }
        }
        return hasChanged
    }

    /// Returns the number of transfers that the state of a route allows to start.
    func allowance(_ way: HostTable.Way, _ now: Double) -> Int {
        if bounds.isSleeping { return 0 }
        // So many complete files are waiting for the disk that more downloads would not finish any sooner.
        if finishing.count(besides: Set(fileSystems.silences.keys)) >= Self.finishingLimit { return 0 }
        return hosts.allowance(way, now)
    }

    /// Returns the route of a per-origin queue's tasks to their origin.
    nonisolated func way(of lane: Lane) -> HostTable.Way {
        HostTable.Way(origin: lane.origin, proxy: lane.proxy ?? fallbackProxy(for: lane.origin))
    }

    nonisolated func way(of record: TaskRecord) -> HostTable.Way {
        HostTable.Way(origin: record.origin, proxy: record.proxyAddress ?? fallbackProxy(for: record.origin))
    }

    nonisolated private func fallbackProxy(for origin: String) -> String? {
        environment.fallback.proxy(for: origin).map { ProxyAddress($0).url }
    }

    func isBusy(_ id: TaskID) -> Bool {
        active[id] != nil || finishing.contains(id) || claims.contains(id) || isLeft(id)
    }

    private func nextDeadline(_ queue: Queue, _ plan: Admission.Plan, _ now: ClockReading) -> Double? {
        let hostEnds = queue.lanes.compactMap { hosts.blockedUntil(way(of: $0), now.bootSeconds) }
        let times = queue.times
        let beginAt = times.beginAt.map { now.bootSeconds + $0 - now.wallSeconds }
        // Another operation of the store may have failed during this scheduling pass.
        let paused = admissions.pausedUntil.flatMap { $0 > now.bootSeconds ? $0 : nil }
        // If a task could not be ended now, the service tries again with the next change.
        let deadline = times.deadline.flatMap { $0 > now.bootSeconds ? $0 : nil }
        return ([times.notBefore, beginAt, times.relaxesAt, deadline, plan.nextDeadline, paused] + hostEnds)
            .compactMap(\.self).min()
    }

    private func setAlarm(at bootSeconds: Double?) {
        timers.alarm.set(for: isStopping ? nil : bootSeconds, by: environment.clock) { await self.alarmRang($0) }
    }

    private func alarmRang(_ bootSeconds: Double) async {
        timers.alarm.rang(bootSeconds)
        await schedule()
    }

    /// Pauses all starts after a failed write, until the store may work again.
    func storeFailed(_ error: StoreError) {
        logger.error("The store failed", metadata: ["error": "\(error)"])
        let until = now.bootSeconds + Self.storePause
        admissions.pausedUntil = until
        setAlarm(at: until)
    }

    /// The number of seconds until the next attempt after a failed write to the store, or after a full disk.
    static let storePause = FailurePause.ofThisMachine
    private static let finishingLimit = 512
}

extension StoreTransaction {
    /// Returns the first tasks of a per-origin queue with these requirements and one size.
    fileprivate func heads(
        _ lane: LaneID, _ rules: [TransferRules], isLarge: Bool, limit: Int
    ) throws -> [Admission.Candidate] {
        // Two queries are needed, because tasks of one kind could fill the limit and hide the other kind.
        try [false, true].flatMap { hasFailed in
            let classes = try rules.map { rules in
                try readyTasks(lane: lane, rules: rules, isLarge: isLarge, hasFailed: hasFailed, limit: limit).map {
                    Admission.Candidate(
                        id: $0.id, priority: $0.priority, isLarge: $0.isLarge, fruitless: $0.fruitless)
                }
            }
            return Admission.merged(classes, limit: limit)
        }
    }
}
