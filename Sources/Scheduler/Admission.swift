package import NightshiftAPI

/// Decides which waiting transfers start and which running ones make room.
///
/// Pure: the same lanes give the same plan. Within what the limits leave, the highest priority goes first and, of equals,
/// the oldest. Two rules keep large files from starving small ones (BITS uses time slices to the same end):
///
/// 1. A large transfer never takes the last connection of a lane, or of the service, while a small one waits there. Where
///    there is but one connection at all, this holds only against small ones of no lower priority.
/// 2. Where large transfers hold every connection and a small one of no lower priority waits, one of them makes room,
///    provided it has run for ``slice`` seconds and can go on later from where it stopped.
package enum Admission {
    /// From this many missing bytes on a transfer counts as large: more than a second of a 100 Mbit/s line.
    package static let largeSize: Int64 = 16 << 20
    /// Seconds that a large transfer runs at least, so that making room costs a small part of its time.
    package static let slice: Double = 10

    package struct Candidate: Hashable, Sendable {
        package var id: TaskID
        package var priority: Double
        package var isLarge: Bool

        package init(id: TaskID, priority: Double, isLarge: Bool) {
            self.id = id
            self.priority = priority
            self.isLarge = isLarge
        }

        fileprivate func precedes(_ other: Candidate, smallFirst: Bool) -> Bool {
            guard priority == other.priority, smallFirst, isLarge != other.isLarge else {
                return (-priority, id) < (-other.priority, other.id)
            }
            return !isLarge
        }
    }

    package struct Running: Hashable, Sendable {
        package var id: TaskID
        package var priority: Double
        package var isLarge: Bool
        /// Boot seconds.
        package var startedAt: Double
        /// Whether it continues later from where it stops.
        package var isResumable: Bool

        package init(id: TaskID, priority: Double, isLarge: Bool, startedAt: Double, isResumable: Bool) {
            self.id = id
            self.priority = priority
            self.isLarge = isLarge
            self.startedAt = startedAt
            self.isResumable = isResumable
        }
    }

    /// The tasks of one session with one origin.
    package struct Lane: Hashable, Sendable {
        package var maximumConnections: Int
        package var running: [Running]
        /// Of the classes of tasks that the moment allows (``Permission``), merged: best first, at least as many as there are
        /// free connections, where there are so many.
        package var small: [Candidate]
        package var large: [Candidate]
        /// How many the origin's state lets start: 0 in a pause, 1 when one transfer has to probe it first.
        package var allowance: Int

        package init(
            maximumConnections: Int, running: [Running], small: [Candidate], large: [Candidate], allowance: Int
        ) {
            self.maximumConnections = maximumConnections
            self.running = running
            self.small = small
            self.large = large
            self.allowance = allowance
        }
    }

    package struct Plan: Hashable, Sendable {
        package var start: [TaskID] = []
        package var makeRoom: [TaskID] = []
        /// Boot seconds at which a large transfer's slice ends that others wait for.
        package var nextLook: Double?
    }

    /// The heads of several classes of a lane's tasks as one queue: what a task needs of the device gives it no precedence
    /// over others that may run as well.
    ///
    /// - Parameter classes: each best first and of one size.
    package static func merged(_ classes: [[Candidate]], limit: Int) -> [Candidate] {
        guard classes.count > 1 else { return Array((classes.first ?? []).prefix(limit)) }
        return Array(classes.flatMap(\.self).sorted { $0.precedes($1, smallFirst: false) }.prefix(limit))
    }

    package static func plan(lanes: [Lane], maximumTransfers: Int, now: Double) -> Plan {
        var plan = Plan()
        var lanes = lanes
        let onlyOne = maximumTransfers == 1
        var free = maximumTransfers - lanes.reduce(0) { $0 + $1.running.count }
        while free > 0 {
            let smallWaits = lanes.contains { $0.nextSmall != nil }
            let choices = lanes.indices.compactMap { index in
                lanes[index].next(lastOfService: free == 1 && smallWaits, onlyOne: onlyOne).map { (index, $0) }
            }
            let best = choices.min { $0.1.precedes($1.1, smallFirst: onlyOne) }
            guard let (index, candidate) = best else { break }
            lanes[index].start(candidate, now: now)
            plan.start.append(candidate.id)
            free -= 1
        }
        makeRoom(in: lanes, serviceIsFull: free <= 0, now: now, plan: &plan)
        return plan
    }

    /// Applies rule 2 to the lanes as they are after all that could start has started.
    private static func makeRoom(in lanes: [Lane], serviceIsFull: Bool, now: Double, plan: inout Plan) {
        let everyone = lanes.flatMap(\.running)
        for lane in lanes {
            guard lane.allowance > 0, let waiting = lane.small.first else { continue }
            let laneIsFull = lane.running.count >= lane.maximumConnections
            guard laneIsFull || serviceIsFull else { continue }
            let holders = laneIsFull ? lane.running : everyone
            guard holders.allSatisfy(\.isLarge) else { continue }
            let victims = holders.filter { $0.isResumable && $0.priority <= waiting.priority }
            if let victim = victims.filter({ now - $0.startedAt >= slice }).min(by: {
                ($0.priority, $0.startedAt) < ($1.priority, $1.startedAt)
            }) {
                if !plan.makeRoom.contains(victim.id) { plan.makeRoom.append(victim.id) }
            } else if let sliceEnd = victims.map({ $0.startedAt + slice }).min() {
                plan.nextLook = min(plan.nextLook ?? sliceEnd, sliceEnd)
            }
        }
    }

    /// Why a ready task of a lane does not run now.
    ///
    /// - Parameter smallWaitsElsewhere: whether another lane has a small task that could start.
    package static func reason(
        isLarge: Bool, lane: Lane, running: Int, maximumTransfers: Int, smallWaitsElsewhere: Bool = false
    ) -> WaitReason {
        if lane.allowance == 0 { return .hostBackoff }
        if lane.running.count >= lane.maximumConnections { return .connectionLimit }
        if running >= maximumTransfers { return .serviceLimit }
        let isLastPlace = running == maximumTransfers - 1
        if isLarge, lane.nextSmall != nil || isLastPlace && smallWaitsElsewhere { return .smallerFirst }
        return .starting
    }
}

extension Admission.Lane {
    fileprivate var freeConnections: Int {
        min(maximumConnections - running.count, allowance)
    }

    fileprivate var nextSmall: Admission.Candidate? {
        freeConnections > 0 ? small.first : nil
    }

    /// The lane's best task that may start, if any.
    ///
    /// - Parameter onlyOne: whether the service runs one transfer at a time.
    fileprivate func next(lastOfService: Bool, onlyOne: Bool) -> Admission.Candidate? {
        guard freeConnections > 0 else { return nil }
        let lastOfLane = freeConnections == 1 && maximumConnections > 1 && !small.isEmpty
        let large = lastOfLane || lastOfService && !onlyOne ? nil : large.first
        guard let small = small.first else { return large }
        guard let large else { return small }
        return small.precedes(large, smallFirst: onlyOne || maximumConnections == 1) ? small : large
    }

    fileprivate mutating func start(_ candidate: Admission.Candidate, now: Double) {
        if candidate.isLarge { large.removeFirst() } else { small.removeFirst() }
        allowance -= 1
        running.append(
            Admission.Running(
                id: candidate.id, priority: candidate.priority, isLarge: candidate.isLarge, startedAt: now,
                isResumable: false))
    }
}
