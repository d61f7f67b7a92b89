package import NightshiftAPI

/// Decides which waiting transfers start, and which running transfers are stopped to make room. The same queues always
/// give the same plan.
///
/// Within the limits, the transfer with the highest priority starts first. At equal priority, the oldest starts first.
/// Rules 1 and 2 keep large files from starving small ones (BITS uses time slices for the same purpose). Rule 3 keeps
/// transfers that fail repeatedly from starving all others:
///
/// 1. A large transfer never takes the last connection of a per-origin queue (``Lane``), or of the service, while a
///    small one waits there. If only one connection exists, this rule applies only to small transfers of at least equal
///    priority.
/// 2. If large transfers use every connection and a small one of at least equal priority waits, one large transfer is
///    stopped. It must have run for ``slice`` seconds, and must be able to resume.
/// 3. Transfers whose last attempt made no lasting progress take at most half the connections of a queue, and of the
///    service, while a transfer that has not failed waits there. If only one connection exists, both kinds take turns.
///    An origin is probed by a transfer that has not failed, or else by the one with the fewest failures.
///
/// ``ConnectionSlots`` determines how many transfers the service lets a queue start. At equal priority, a task goes
/// first if it has not failed and its origin has no running transfer. ``yield(_:_:_:now:plan:)`` decides which slow
/// transfers give up their slots.
package enum Admission {
    /// The number of missing bytes at which a transfer counts as large: more than a second on a line of 100 Mbit/s.
    package static let largeSize: Int64 = 16 << 20
    /// The minimum running time of a large transfer in seconds. This time keeps the cost of a restart small in
    /// comparison.
    package static let slice: Double = 10

    package struct Candidate: Hashable, Sendable {
        package var id: TaskID
        package var priority: Double
        package var isLarge: Bool
        /// The number of consecutive attempts without lasting progress.
        package var fruitless: Int
        /// Whether the task gave up its slot recently. If so, other tasks of equal priority go first.
        package var isLast: Bool

        package init(id: TaskID, priority: Double, isLarge: Bool, fruitless: Int = 0, isLast: Bool = false) {
            self.isLast = isLast
            self.id = id
            self.priority = priority
            self.isLarge = isLarge
            self.fruitless = fruitless
        }

        fileprivate var hasFailed: Bool { fruitless > 0 }

        fileprivate func precedes(_ other: Candidate, smallFirst: Bool) -> Bool {
            if priority == other.priority, isLast != other.isLast { return other.isLast }
            guard priority == other.priority, smallFirst, isLarge != other.isLarge else {
                return (-priority, id) < (-other.priority, other.id)
            }
            return !isLarge
        }
    }

    /// The state of a running transfer that is too slow to keep its slot. See ``Pace``.
    package struct Slowness: Hashable, Sendable {
        /// The loss if the transfer is stopped, ordered from least to most.
        package enum Loss: Hashable, Sendable {
            /// The transfer loses nothing, because it resumes from where it stopped.
            case nothing
            /// The time that the transfer has waited for a response is lost.
            case wait
            /// This number of bytes has to be fetched again.
            case bytes(Int64)
            /// The transfer would lose more than bytes, so it is not stopped.
            case everything

            fileprivate var rank: Int64? {
                switch self {
                case .nothing: 0
                case .wait: 1
                case .bytes(let count): 2 + max(0, min(count, .max - 2))
                case .everything: nil
                }
            }
        }

        /// The start of the slowness in boot seconds.
        package var since: Double
        /// The number of seconds for which the slow transfer keeps its slot while others wait.
        package var slice: Double
        package var loss: Loss

        package init(since: Double, slice: Double = Admission.slice, loss: Loss) {
            self.since = since
            self.slice = slice
            self.loss = loss
        }

        fileprivate var end: Double { since + slice }
    }

    package struct Running: Hashable, Sendable {
        package var id: TaskID
        package var priority: Double
        package var isLarge: Bool
        /// The start time in boot seconds.
        package var startedAt: Double
        /// Whether the transfer can resume later from where it stops.
        package var isResumable: Bool
        /// Whether earlier attempts made no lasting progress, and the current one has made none so far.
        package var hasFailed: Bool
        /// The slowness of the transfer; nil while it is fast enough.
        package var slowness: Slowness?
        /// Whether the transfer was asked to stop and has not stopped yet.
        package var isStopping: Bool

        package init(
            id: TaskID, priority: Double, isLarge: Bool, startedAt: Double, isResumable: Bool, hasFailed: Bool = false,
            slowness: Slowness? = nil, isStopping: Bool = false
        ) {
            self.slowness = slowness
            self.isStopping = isStopping
            self.id = id
            self.priority = priority
            self.isLarge = isLarge
            self.startedAt = startedAt
            self.isResumable = isResumable
            self.hasFailed = hasFailed
        }
    }

    /// The tasks of one session that use the same origin and the same route. The documentation calls this a per-origin
    /// queue.
    package struct Lane: Hashable, Sendable {
        package var maximumConnections: Int
        package var running: [Running]
        /// The small tasks that may run in the current device state (``Permission``), best first. Tasks that have
        /// failed and tasks that have not are each numerous enough to fill all free connections.
        package var small: [Candidate]
        package var large: [Candidate]
        /// The number of transfers that the state of the origin allows to start: 0 during a pause, 1 while a transfer
        /// has to probe the origin.
        package var allowance: Int
        /// Whether the last transfer on the queue's only connection had not failed.
        package var isTurnOfFailed: Bool
        /// The origin of the tasks; nil if the limits per origin do not apply.
        package var origin: String?

        package init(
            maximumConnections: Int, running: [Running], small: [Candidate], large: [Candidate], allowance: Int,
            isTurnOfFailed: Bool = false, origin: String? = nil
        ) {
            self.origin = origin
            self.isTurnOfFailed = isTurnOfFailed
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
        /// The slow transfers that have to give up their slots.
        package var yield: [TaskID] = []
        /// The time in boot seconds at which the next slice ends. Tasks that wait may start then.
        package var nextDeadline: Double?
    }

    /// Merges the tasks of several requirement classes of a per-origin queue into one order. The device requirements of
    /// a task do not affect its precedence.
    ///
    /// - Parameter classes: lists with the best task first; all tasks of a list have the same size.
    package static func merged(_ classes: [[Candidate]], limit: Int) -> [Candidate] {
        guard classes.count > 1 else { return Array((classes.first ?? []).prefix(limit)) }
        return Array(classes.flatMap(\.self).sorted { $0.precedes($1, smallFirst: false) }.prefix(limit))
    }

    /// Returns the transfers to start, and the running transfers to stop.
    ///
    /// - Parameter isTurnOfFailed: whether it is the turn of a transfer that has failed, because the last transfer had
    ///   not failed. Used only if the service runs one transfer at a time.
    package static func plan(
        lanes: [Lane], maximumTransfers: Int, now: Double, isTurnOfFailed: Bool = false
    ) -> Plan {
        var plan = Plan()
        var lanes = lanes
        var places = ConnectionSlots(lanes, maximum: maximumTransfers)
        let onlyOne = maximumTransfers == 1
        while true {
            let left = lanes.map { places.left(for: $0) }
            guard left.contains(where: { $0 > 0 }) else { break }
            let failedMay = mayStartFailed(lanes, maximumTransfers, isTurnOfFailed)
            let smallWaits = lanes.indices.contains {
                left[$0] > 0 && lanes[$0].nextSmall(failedMay: failedMay[$0]) != nil
            }
            let choices = lanes.indices.compactMap { index -> Choice? in
                guard left[index] > 0 else { return nil }
                let next = lanes[index].next(
                    lastOfService: left[index] == 1 && smallWaits, onlyOne: onlyOne, failedMay: failedMay[index])
                return next.map {
                    Choice(lane: index, candidate: $0, isUntried: lanes[index].isUntried($0, places))
                }
            }
            guard let best = choices.min(by: { $0.precedes($1, smallFirst: onlyOne) }) else { break }
            lanes[best.lane].start(best.candidate, now: now)
            places.add(origin: lanes[best.lane].origin)
            plan.start.append(best.candidate.id)
        }
        let failedMay = mayStartFailed(lanes, maximumTransfers, isTurnOfFailed)
        makeRoom(in: lanes, failedMay, places, now: now, plan: &plan)
        yield(lanes, failedMay, places, now: now, plan: &plan)
        return plan
    }

    /// The next task of a per-origin queue.
    private struct Choice {
        var lane: Int
        var candidate: Candidate
        var isUntried: Bool

        func precedes(_ other: Choice, smallFirst: Bool) -> Bool {
            guard candidate.priority == other.candidate.priority, isUntried != other.isUntried else {
                return candidate.precedes(other.candidate, smallFirst: smallFirst)
            }
            return isUntried
        }
    }

    /// Applies rule 3: returns for each per-origin queue whether a task that has failed may start.
    private static func mayStartFailed(_ lanes: [Lane], _ maximumTransfers: Int, _ isTurnOfFailed: Bool) -> [Bool] {
        let freshWaits = lanes.contains(where: \.freshCouldStart)
        let failed = lanes.reduce(0) { $0 + $1.running.count(where: \.hasFailed) }
        let isFree = !freshWaits || isShareLeft(failed, of: maximumTransfers, isTurnOfFailed)
        return lanes.map { isFree && $0.mayStartFailed(maximumTransfers) }
    }

    fileprivate static func isShareLeft(_ failed: Int, of connections: Int, _ isTurn: Bool) -> Bool {
        connections > 1 ? failed < connections / 2 : isTurn
    }

    /// Applies rule 2 to the per-origin queues after all possible tasks have started.
    private static func makeRoom(
        in lanes: [Lane], _ failedMay: [Bool], _ places: ConnectionSlots, now: Double, plan: inout Plan
    ) {
        let everyone = lanes.flatMap(\.running)
        for (lane, failedMay) in zip(lanes, failedMay) {
            guard lane.allowance > 0, let waiting = lane.best(lane.small, failedMay: failedMay) else { continue }
            let laneIsFull = lane.running.count >= lane.maximumConnections
            guard laneIsFull || places.left(for: lane) <= 0 else { continue }
            let holders = laneIsFull ? lane.running : everyone
            guard holders.allSatisfy(\.isLarge) else { continue }
            let victims = holders.filter { $0.isResumable && $0.priority <= waiting.priority }
            if let victim = victims.filter({ now - $0.startedAt >= slice }).min(by: {
                ($0.priority, $0.startedAt) < ($1.priority, $1.startedAt)
            }) {
                if !plan.makeRoom.contains(victim.id) { plan.makeRoom.append(victim.id) }
            } else if let sliceEnd = victims.map({ $0.startedAt + slice }).min() {
                plan.nextDeadline = min(plan.nextDeadline ?? sliceEnd, sliceEnd)
            }
        }
    }

    /// Selects slow transfers that give up their slots when waiting tasks cannot start otherwise. If slow transfers use
    /// all connections of a per-origin queue, a transfer that can resume is stopped. If there are more slow transfers
    /// than lent slots, the slow transfers with the smallest loss are stopped.
    ///
    /// A transfer does not stop before its slice has passed. A transfer that has to restart stops only if no other has
    /// a smaller loss.
    private static func yield(
        _ lanes: [Lane], _ failedMay: [Bool], _ places: ConnectionSlots, now: Double, plan: inout Plan
    ) {
        var wanted = 0
        for (lane, failedMay) in zip(lanes, failedMay) {
            guard lane.allowance > 0, lane.hasWaiting(failedMay: failedMay) else { continue }
            if lane.running.count >= lane.maximumConnections {
                // The next task gets the slot of the transfer that is stopped, so no other slot has to be free.
                guard places.left(for: lane) >= 0, lane.running.allSatisfy({ $0.slowness != nil && !$0.isStopping })
                else { continue }
                let victims = lane.running.filter { $0.slowness?.loss == .nothing }
                stop(1, of: victims, now: now, plan: &plan)
            } else if places.left(for: lane) <= 0, !places.hasSlow(lane) || places.isAllSlow {
                wanted += 1
            }
        }
        let slow = lanes.flatMap(\.running).filter { $0.slowness != nil }
        let leaving = slow.count { $0.isStopping || plan.yield.contains($0.id) || plan.makeRoom.contains($0.id) }
        let victims = slow.filter { !$0.isStopping && !plan.yield.contains($0.id) && !plan.makeRoom.contains($0.id) }
        // Transfers that would have to restart stop only if all others would have to restart, too.
        let gentle = victims.filter { $0.slowness?.loss == .nothing || $0.slowness?.loss == .wait }
        stop(
            min(wanted, places.slowWithoutPlace) - leaving, of: gentle.isEmpty ? victims : gentle, now: now,
            plan: &plan)
    }

    private static func stop(_ count: Int, of victims: [Running], now: Double, plan: inout Plan) {
        guard count > 0 else { return }
        let ranked = victims.compactMap { victim -> (running: Running, loss: Int64, end: Double)? in
            guard let slowness = victim.slowness, let loss = slowness.loss.rank else { return nil }
            return (victim, loss, slowness.end)
        }
        let due = ranked.filter { $0.end <= now }.sorted {
            ($0.loss, $0.end, $0.running.id) < ($1.loss, $1.end, $1.running.id)
        }
        plan.yield += due.prefix(count).map(\.running.id)
        guard due.count < count, let next = ranked.map(\.end).filter({ $0 > now }).min() else { return }
        plan.nextDeadline = min(plan.nextDeadline ?? next, next)
    }

    /// Returns the reason why a ready task of a per-origin queue does not run now.
    ///
    /// - Parameters:
    ///   - hasFailed: whether the last attempt made no lasting progress.
    ///   - places: the connection slots of the service.
    ///   - smallWaitsElsewhere: whether another queue has a small task that could start.
    ///   - othersFirst: whether the service reserves its slots for tasks of other queues that have not failed.
    package static func reason(
        isLarge: Bool, hasFailed: Bool = false, lane: Lane, places: ConnectionSlots,
        smallWaitsElsewhere: @autoclosure () -> Bool = false, othersFirst: @autoclosure () -> Bool = false
    ) -> WaitReason {
        if lane.allowance == 0 { return .hostBackoff }
        if lane.running.count >= lane.maximumConnections { return .connectionLimit }
        let left = places.left(for: lane)
        if left <= 0 { return .serviceLimit }
        // The checks below examine every per-origin queue. Most tasks do not depend on the other queues.
        guard hasFailed || isLarge else { return .starting }
        let failedMay = !othersFirst() && lane.mayStartFailed(places.maximum)
        if hasFailed, !failedMay { return .othersFirst }
        if isLarge, lane.nextSmall(failedMay: failedMay) != nil || left == 1 && smallWaitsElsewhere() {
            return .smallerFirst
        }
        return .starting
    }

    /// Returns whether tasks that have failed wait for tasks of other per-origin queues that have not failed.
    package static func othersFirst(_ lanes: some Collection<Lane>, maximumTransfers: Int) -> Bool {
        let failed = lanes.reduce(0) { $0 + $1.running.count(where: \.hasFailed) }
        return lanes.contains(where: \.freshCouldStart) && !isShareLeft(failed, of: maximumTransfers, false)
    }
}

extension Admission.Lane {
    fileprivate var freeConnections: Int {
        min(maximumConnections - running.count, allowance)
    }

    /// Whether a task that has not failed is waiting and a connection is free for it.
    fileprivate var freshCouldStart: Bool {
        freeConnections > 0 && (small.contains { !$0.hasFailed } || large.contains { !$0.hasFailed })
    }

    /// Returns whether the task has neither failed nor given up its slot recently, and its origin is idle and needs no
    /// probe.
    fileprivate func isUntried(_ candidate: Admission.Candidate, _ places: ConnectionSlots) -> Bool {
        origin != nil && !candidate.hasFailed && !candidate.isLast && allowance > 1 && places.isIdle(self)
    }

    fileprivate func hasWaiting(failedMay: Bool) -> Bool {
        best(small, failedMay: failedMay) ?? best(large, failedMay: failedMay) != nil
    }

    /// Applies rule 3 within the per-origin queue.
    fileprivate func mayStartFailed(_ maximumTransfers: Int) -> Bool {
        guard freshCouldStart else { return true }
        let connections = min(maximumConnections, maximumTransfers)
        return Admission.isShareLeft(running.count(where: \.hasFailed), of: connections, isTurnOfFailed)
    }

    fileprivate func nextSmall(failedMay: Bool) -> Admission.Candidate? {
        freeConnections > 0 ? best(small, failedMay: failedMay) : nil
    }

    /// Returns the first task of a list that rule 3 allows to start.
    fileprivate func best(_ queue: [Admission.Candidate], failedMay: Bool) -> Admission.Candidate? {
        let first = queue.first { !$0.hasFailed }
        let other = first?.isLast == true ? queue.first { !$0.hasFailed && !$0.isLast } : nil
        let fresh = other?.priority == first?.priority ? other ?? first : first
        guard failedMay else { return fresh }
        let isProbe = allowance == 1
        let failed = queue.filter(\.hasFailed).min {
            isProbe
                ? ($0.fruitless, -$0.priority, $0.id) < ($1.fruitless, -$1.priority, $1.id)
                : (-$0.priority, $0.fruitless, $0.id) < (-$1.priority, $1.fruitless, $1.id)
        }
        guard let fresh, let failed else { return fresh ?? failed }
        return isProbe || fresh.precedes(failed, smallFirst: false) ? fresh : failed
    }

    /// Returns the best task of the per-origin queue that may start, if any.
    ///
    /// - Parameters:
    ///   - onlyOne: whether the service runs one transfer at a time.
    ///   - failedMay: whether rule 3 allows a task that has failed to start.
    fileprivate func next(lastOfService: Bool, onlyOne: Bool, failedMay: Bool) -> Admission.Candidate? {
        guard freeConnections > 0 else { return nil }
        let small = best(self.small, failedMay: failedMay)
        let lastOfLane = freeConnections == 1 && maximumConnections > 1 && small != nil
        let large = lastOfLane || lastOfService && !onlyOne ? nil : best(self.large, failedMay: failedMay)
        guard let small else { return large }
        guard let large else { return small }
        return small.precedes(large, smallFirst: onlyOne || maximumConnections == 1) ? small : large
    }

    fileprivate mutating func start(_ candidate: Admission.Candidate, now: Double) {
        if candidate.isLarge {
            large.removeAll { $0.id == candidate.id }
        } else {
            small.removeAll { $0.id == candidate.id }
        }
        allowance -= 1
        isTurnOfFailed = !candidate.hasFailed
        running.append(
            Admission.Running(
                id: candidate.id, priority: candidate.priority, isLarge: candidate.isLarge, startedAt: now,
                isResumable: false, hasFailed: candidate.hasFailed))
    }
}
