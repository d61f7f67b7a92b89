import Device
import Logging
import NightshiftAPI
import Scheduler
import Store

/// Starting: from the rows that wait to the transfers that run.
extension TransferService {
    /// What a look at the store brings for a decision.
    private struct Queue: Sendable {
        var lanes: [Lane] = []
        var candidates: [LaneID: (small: [QueuedTask], large: [QueuedTask])] = [:]
        var notBefore: Double?
        var beginAt: Double?
        var deadline: Double?
    }

    /// Starts what may start and sets the alarm for the next change that time brings.
    func pump() async {
        pumpRequested = true
        guard !isPumping else { return }
        isPumping = true
        while pumpRequested, !isStopping {
            pumpRequested = false
            do {
                try await pumpOnce()
            } catch {
                storeFailed(error)
            }
        }
        isPumping = false
    }

    private func pumpOnce() async throws(StoreError) {
        if let paused = storePausedUntil, paused > now.bootSeconds {
            setAlarm(at: paused)
            return
        }
        storePausedUntil = nil
        var queue = try await look()
        if try await releaseDue(queue) { queue = try await look() }
        let now = now
        let lanes = queue.lanes.map { admissionLane($0, queue, now.bootSeconds) }
        latestLanes = Dictionary(uniqueKeysWithValues: zip(queue.lanes.map(\.id), lanes))
        let plan = Admission.plan(lanes: lanes, maximumTransfers: maximumTransfers, now: now.bootSeconds)
        for id in plan.makeRoom { interrupt(id, .smallerFirst) }
        setAlarm(at: nextLook(queue, plan, now))
        guard !plan.start.isEmpty else { return }
        starting.formUnion(plan.start)
        defer {
            starting.subtract(plan.start)
            for id in plan.start { wakeQuietWaiters(id) }
        }
        let records = try await store.read { transaction in try plan.start.compactMap { try transaction.task($0) } }
        for record in records where !isStopping && held[record.id] == nil && record.state == .waiting {
            await begin(record)
        }
    }

    /// Ends waits and tasks whose time has come; false when there are none.
    private func releaseDue(_ queue: Queue) async throws(StoreError) -> Bool {
        let now = now
        let isReleased =
            queue.notBefore ?? .infinity <= now.bootSeconds || queue.beginAt ?? .infinity <= now.wallSeconds
        if isReleased {
            try await store.write { try $0.releaseDue(bootSeconds: now.bootSeconds, wallSeconds: now.wallSeconds) }
        }
        guard queue.deadline ?? .infinity <= now.bootSeconds else { return isReleased }
        let overdue = try await store.read { try $0.overdueTasks(bootSeconds: now.bootSeconds, limit: 1_000) }
        // One that cannot be ended now keeps the queue busy, not stuck: it is looked at again with the next change.
        for id in overdue where !finishing.contains(id) { await timeOut(id) }
        if overdue.count == 1_000 { pumpRequested = true }
        return true
    }

    private func look() async throws(StoreError) -> Queue {
        // Rows of tasks that run still say 'waiting': read that many more, so that enough are left.
        let margin = active.count + starting.count + finishing.count + held.count
        let limit = maximumTransfers
        return try await store.read { transaction in
            var queue = Queue()
            (queue.notBefore, queue.beginAt, queue.deadline) = try transaction.nextTimes()
            queue.lanes = try transaction.readyLanes()
            for lane in queue.lanes {
                let wanted = min(lane.maximumConnections, limit) + margin
                queue.candidates[lane.id] = (
                    try transaction.readyTasks(lane: lane.id, isLarge: false, limit: wanted),
                    try transaction.readyTasks(lane: lane.id, isLarge: true, limit: wanted)
                )
            }
            return queue
        }
    }

    private func admissionLane(_ lane: Lane, _ queue: Queue, _ now: Double) -> Admission.Lane {
        func candidates(_ tasks: [QueuedTask]) -> [Admission.Candidate] {
            tasks.filter { !isBusy($0.id) }.map {
                Admission.Candidate(id: $0.id, priority: $0.priority, isLarge: $0.isLarge)
            }
        }
        let rows = queue.candidates[lane.id]
        return Admission.Lane(
            maximumConnections: lane.maximumConnections,
            running: active.values.filter { $0.record.lane == lane.id }.map(\.running),
            small: candidates(rows?.small ?? []), large: candidates(rows?.large ?? []),
            allowance: allowance(lane.origin, now))
    }

    /// How many transfers an origin's state lets start.
    func allowance(_ origin: String, _ now: Double) -> Int {
        if !networkAvailable, !Self.isLoopback(origin) { return 0 }
        // All bytes of so many files wait for the disk that more would not help.
        if finishing.count >= Self.finishingLimit { return 0 }
        guard let host = hosts[origin] else { return .max }
        if host.backoff.isProbing || host.backoff.blockedUntil(now) != nil { return 0 }
        return host.backoff.isOpen ? .max : 1
    }

    func isBusy(_ id: TaskID) -> Bool {
        active[id] != nil || starting.contains(id) || finishing.contains(id) || held[id] != nil
    }

    private func nextLook(_ queue: Queue, _ plan: Admission.Plan, _ now: ClockReading) -> Double? {
        let hostEnds = queue.lanes.compactMap { hosts[$0.origin]?.backoff.blockedUntil(now.bootSeconds) }
        let beginAt = queue.beginAt.map { now.bootSeconds + $0 - now.wallSeconds }
        return ([queue.notBefore, beginAt, queue.deadline, plan.nextLook] + hostEnds).compactMap(\.self).min()
    }

    private func setAlarm(at bootSeconds: Double?) {
        guard alarm?.bootSeconds != bootSeconds else { return }
        alarm?.task.cancel()
        alarm = nil
        guard let bootSeconds, !isStopping else { return }
        let clock = environment.clock
        let task = Task {
            guard (try? await clock.sleep(untilBootSeconds: bootSeconds)) != nil else { return }
            await self.alarmRang(bootSeconds)
        }
        alarm = (bootSeconds, task)
    }

    private func alarmRang(_ bootSeconds: Double) async {
        if alarm?.bootSeconds == bootSeconds { alarm = nil }
        await pump()
    }

    /// Nothing can be written down: nothing new is begun until that may have changed.
    func storeFailed(_ error: StoreError) {
        logger.error("The store failed", metadata: ["error": "\(error)"])
        let until = now.bootSeconds + Self.storePause
        storePausedUntil = until
        setAlarm(at: until)
    }

    /// Seconds after which a store that could not be written, or a full disk, is tried again.
    static let storePause: Double = 10
    private static let finishingLimit = 512

    static func isLoopback(_ origin: String) -> Bool {
        let host = origin.drop { $0 != ":" }.dropFirst(3)
        return host.hasPrefix("localhost:") || host.hasPrefix("127.") || host.hasPrefix("[::1]")
    }
}
