import Clock
import Logging
import Mounts
import NightshiftAPI
import Scheduler
import Store

/// The start of transfers: from waiting rows to running transfers.
extension TransferService {
    /// Requests a scheduling pass, and returns at once.
    nonisolated func scheduleSoon() {
        reporting.yield { await $0.schedule() }
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
        try await store.setAsideUnreadable(now, logger)
        if try await trySuspects() { return try await waitForTrial() }
        if finishing.settlesAfterTrials { try await takeUpFinishing() }
        var queue = try await readQueue()
        if try await releaseDue(queue.times) { queue = try await readQueue() }
        let now = now
        let running = Dictionary(grouping: placeHolders) { $0.record.lane }.mapValues {
            $0.map { $0.running(admissions.yields) }
        }
        let lanes = queue.lanes.map { lane in
            queue.lane(
                lane, running: running[lane.id] ?? [], allowance: allowance(way(of: lane), now.bootSeconds), admissions,
                now: now.bootSeconds, isBusy: isBusy)
        }
        admissions.turns.keep(queue.lanes.map(\.id))
        admissions.look.note(Dictionary(uniqueKeysWithValues: zip(queue.lanes.map(\.id), lanes)))
        admissions.heldClasses.update(queue.classes, bounds.moment, now)
        let plan = Admission.plan(
            lanes: lanes, maximumTransfers: bounds.limits.maximumTransfers, now: now.bootSeconds,
            isTurnOfFailed: admissions.turns.isTurnOfFailed)
        for id in plan.makeRoom { interrupt(id, .wait(.smallerFirst)) }
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
    private func reportActivity(_ queue: ReadyQueue) {
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
        var isReleased = times.isReleaseDue(now)
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
                interrupt(id)
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
        for record in loosened {
            guard let transfer = active[record.id] else { continue }
            transfer.run.relaxed(record.discretion)
            updateYield(transfer)
        }
        if loosened.count == limit { admissions.loop.request() }
    }

    private func readQueue() async throws(StoreError) -> ReadyQueue {
        let margin = active.count + finishing.count + claims.count + left.count
        let limit = bounds.limits.maximumTransfers
        return try await store.read { [moment = bounds.moment, held = claims.sessions] transaction in
            try ReadyQueue.read(transaction, moment, held: held, limit: limit, margin: margin)
        }
    }

    /// Gives the connection slot of a slow transfer to other tasks for a while.
    private func yieldPlace(of id: TaskID, _ now: ClockReading) {
        guard let transfer = active[id], let since = transfer.pace.slowSince else { return }
        let pause = admissions.yields.yielded(id, at: now.bootSeconds)
        let slowness = RunningTransferText.Slowness(
            seconds: now.bootSeconds - since, minimum: bounds.leastPace(of: transfer.record))
        interrupt(id, .yield(until: now.bootSeconds + pause, detail: slowness.sentence))
    }

    /// Measures the rate of each running transfer.
    ///
    /// - Returns: whether a transfer has become slow, or has stopped being slow.
    func readPaces() -> Bool {
        let time = now.bootSeconds
        var hasChanged = false
        for (id, transfer) in active {
            let count = transfer.count
            transfer.speed.read(count, at: time)
            if let entry = transfer.yieldWatch.read(transfer.yieldMeter.value, at: time) {
                transfer.run.note(entry.decision, entry.detail, now)
            }
            let minimum = bounds.leastPace(of: transfer.record)
            let gap = bounds.longestGap(of: transfer.record, running: active.count)
            if transfer.pace.read(count, at: time, minimum: minimum, gap: gap) { hasChanged = true }
            if transfer.pace.isSteady { admissions.yields.forget(id) }
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

    private nonisolated func way(of lane: Lane) -> HostTable.Way {
        environment.fallback.way(to: lane.origin, proxy: lane.proxy)
    }

    nonisolated func way(of record: TaskRecord) -> HostTable.Way {
        environment.fallback.way(to: record.origin, proxy: record.proxyAddress)
    }

    func isBusy(_ id: TaskID) -> Bool {
        active[id] != nil || finishing.contains(id) || claims.contains(id) || left.contains(id)
    }

    private func nextDeadline(_ queue: ReadyQueue, _ plan: Admission.Plan, _ now: ClockReading) -> Double? {
        let hostEnds = queue.lanes.compactMap { hosts.blockedUntil(way(of: $0), now.bootSeconds) }
        // Another operation of the store may have failed during this scheduling pass.
        let paused = admissions.pausedUntil.flatMap { $0 > now.bootSeconds ? $0 : nil }
        return (queue.times.next(now) + hostEnds + [plan.nextDeadline, paused].compactMap(\.self)).min()
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
