import NightshiftAPI
import Scheduler
import Store

/// The part of the store's content that one scheduling decision needs. This is a value; only ``read(_:_:_:limit:margin:)``
/// accesses the store.
struct ReadyQueue: Sendable {
    private(set) var lanes: [Lane] = []
    /// The requirements of each per-origin queue's tasks that are ready to start. The device state is not considered.
    private var rules: [LaneID: [TransferRules]] = [:]
    /// The first tasks of each per-origin queue that the device state allows.
    private var candidates: [LaneID: (small: [Admission.Candidate], large: [Admission.Candidate])] = [:]
    private(set) var times = QueueTimes()

    /// Reads the queue.
    ///
    /// - Parameters:
    ///   - held: the sessions whose tasks cannot start.
    ///   - limit: the maximum number of running transfers.
    ///   - margin: the number of tasks that already run. Their rows still say 'waiting', so more rows are read.
    static func read(
        _ transaction: StoreTransaction, _ moment: DeviceState, held: Set<SessionID>, limit: Int, margin: Int
    ) throws -> ReadyQueue {
        var queue = ReadyQueue()
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

    /// Returns the requirement classes of the tasks that wait in a per-origin queue.
    func classes(of lane: Lane) -> [RequirementClass] {
        let isLoopback = Loopback.contains(origin: lane.origin)
        return (rules[lane.id] ?? []).map { RequirementClass(rules: $0, isLoopback: isLoopback) }
    }

    var classes: [RequirementClass] { lanes.flatMap { classes(of: $0) } }

    /// Returns a per-origin queue in the form for ``Admission``.
    ///
    /// - Parameters:
    ///   - allowance: the number of transfers that the state of the route allows to start.
    ///   - isBusy: a function that returns whether a task runs or is about to start.
    func lane(
        _ lane: Lane, running: [Admission.Running], allowance: Int, _ admissions: Admissions, now: Double,
        isBusy: (TaskID) -> Bool
    ) -> Admission.Lane {
        func free(_ rows: [Admission.Candidate]?) -> [Admission.Candidate] {
            (rows ?? []).filter { !isBusy($0.id) }.map { row in
                var row = row
                row.isLast = admissions.yields.isLast(row.id, at: now)
                return row
            }
        }
        let rows = candidates[lane.id]
        return Admission.Lane(
            maximumConnections: lane.maximumConnections, running: running, small: free(rows?.small),
            large: free(rows?.large), allowance: allowance,
            isTurnOfFailed: admissions.turns.isTurnOfFailed(in: lane.id), origin: lane.origin)
    }
}

extension QueueTimes {
    /// Whether a pause or a begin date is over, so that tasks have become ready.
    func isReleaseDue(_ now: ClockReading) -> Bool {
        notBefore ?? .infinity <= now.bootSeconds || beginAt ?? .infinity <= now.wallSeconds
    }

    /// Returns the boot seconds of the next changes. If a task could not be ended at its deadline, the service tries
    /// again with the next change.
    func next(_ now: ClockReading) -> [Double] {
        let beginAt = beginAt.map { now.bootSeconds + $0 - now.wallSeconds }
        let deadline = deadline.flatMap { $0 > now.bootSeconds ? $0 : nil }
        return [notBefore, beginAt, relaxesAt, deadline].compactMap(\.self)
    }
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
