import NightshiftAPI
import Scheduler
import Store
import Transfers

/// All transfers of a trace, and their shared network. Running transfers all have the same speed.
///
/// The service's own types make the decisions: ``Admission``, ``RequirementClass``, `TaskRecord`, `HostTable` and
/// `FailurePause`. Only the queries of the service's database are replaced, by ``lanes``.
struct TransferQueue {
    /// The transfers by id; ids count from 1.
    var transfers: [SimulatedTransfer] = []
    var lanes: [Lane] = []
    /// The running transfers, in the order in which they started.
    var running: [Int] = []
    /// The transfers that have just begun at failing hosts.
    var refused: [Int] = []
    /// The transfers with an individual pause.
    var paused: [Int] = []
    let maximumTransfers: Int
    /// The speed of all transfers together.
    var bytesPerSecond = TransferQueue.defaultBytesPerSecond
    /// The failures of hosts, as the service records them. The next property holds the failures that the trace
    /// specifies.
    var hosts = HostTable()
    var failing: [String: TracedHost.Failing] = [:]
    /// The turns of per-origin queues with only one connection.
    var turns = ConnectionTurns<Int>()
    private var laneIndices: [LaneKey: Int] = [:]
    /// The times of timers of transfers in boot seconds, latest first.
    var timers: [(time: Double, index: Int)] = []
    /// The time in boot seconds at which a transfer may start or make room without an event.
    var nextAdmission: Double?
    /// The journal entries of decisions and results since the last read.
    var entries: [JournalEntry] = []
    var ended: [SimulatedTransfer] = []
    var waits = WaitLedger()
    var totals = TransferTotals()

    /// The default speed: 20 Mbit/s.
    static let defaultBytesPerSecond: Double = 2_500_000

    private struct LaneKey: Hashable {
        var app: AppID?
        var session: String
        var host: String
    }

    /// A per-origin queue: the transfers of one session with one host.
    struct Lane {
        let host: String
        let isLoopback: Bool
        var maximumConnections = SessionSettings().httpMaximumConnectionsPerHost
        var classes: [Class] = []

        init(host: String) {
            self.host = host
            isLoopback = Loopback.contains(host: host)
        }

        /// The route of the per-origin queue. Hosts of a trace have one scheme and one port, and no proxy.
        var way: HostTable.Way { HostTable.Way(origin: host, proxy: nil) }

        func needs(_ rules: TransferRules) -> RequirementClass {
            RequirementClass(rules: rules, isLoopback: isLoopback)
        }
    }

    /// The waiting transfers of a per-origin queue that have the same requirements; best first.
    struct Class {
        var rules: TransferRules
        var isLarge: Bool
        var hasFailed: Bool
        var waiting: [Int] = []
        /// The reason why the transfers wait, and the start of the wait.
        var reason: WaitReason?
        var since = 0.0
    }

    init(maximumTransfers: Int?) {
        self.maximumTransfers = maximumTransfers ?? ServiceLimits.defaultMaximumTransfers
    }

    // MARK: - Intake

    /// Adds transfers.
    ///
    /// - Parameters:
    ///   - isForced: whether the transfers are discretionary because their app is in the background.
    ///   - notBefore: the earliest start in boot seconds.
    mutating func add(
        _ request: TracedTransfer, app: AppID?, isForced: Bool, notBefore: Double?, _ moment: DeviceState,
        _ now: ClockReading
    ) {
        let lane = lane(LaneKey(app: app, session: request.session, host: request.host))
        let first = transfers.count
        for index in first..<first + request.count {
            let transfer = SimulatedTransfer(
                request, id: TaskID(Int64(index + 1)), app: app, lane: lane, isForced: isForced, now: now)
            transfers.append(transfer)
            setTimers(index)
            if let notBefore {
                transfers[index].record.notBefore = notBefore
                transfers[index].record.wait = StoredWait(
                    reason: .relaunchDelay, since: now.wallSeconds, detail: nil)
                pause(index, now.bootSeconds)
            } else {
                wait(index, now.bootSeconds)
            }
        }
        totals.accepted += request.count
        var entry = JournalEntry.accepted(
            transfers[first].record.id, through: TaskID(Int64(transfers.count)), at: now.date)
        entry.app = app
        entry.inputs = [
            "session": request.session, "host": request.host, "bytes": String(request.bytes),
            "count": String(request.count), "discretion": transfers[first].record.rules.discretion.rawValue,
        ]
        if isForced { entry.inputs?["fromBackground"] = "yes" }
        entries.append(entry)
        let classes = transfers[first...].map { notBefore == nil ? needs(of: $0) : nil }
        for (offset, held) in RequirementClass.heldFromTheFirst(classes, moment, now) {
            var held = held
            held.task = transfers[first + offset].record.id
            held.app = app
            entries.append(held)
        }
    }

    private mutating func lane(_ key: LaneKey) -> Int {
        if let index = laneIndices[key] { return index }
        lanes.append(Lane(host: key.host))
        laneIndices[key] = lanes.count - 1
        return lanes.count - 1
    }

    /// Sets the timers of a transfer: one for its time limit, and an earlier one for the relaxation of its
    /// requirements.
    private mutating func setTimers(_ index: Int) {
        let record = transfers[index].record
        for time in [record.deadline, record.relaxesAt].compactMap(\.self) { setTimer(time, index) }
    }

    mutating func setTimer(_ time: Double, _ index: Int) {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].time > time { low = middle + 1 } else { high = middle }
        }
        timers.insert((time, index), at: low)
    }

    func needs(of transfer: SimulatedTransfer) -> RequirementClass { lanes[transfer.lane].needs(transfer.record.rules) }

    // MARK: - Waiting

    /// Adds a transfer to the paused transfers.
    mutating func pause(_ index: Int, _ now: Double) {
        transfers[index].waitsFrom = now
        paused.append(index)
    }

    /// Ends the pause of a transfer, which then waits for its turn.
    mutating func endPause(_ index: Int, _ now: Double) {
        leavePaused(index, now)
        transfers[index].record.notBefore = nil
        wait(index, now)
    }

    /// Removes a transfer from the paused transfers, and counts its wait.
    mutating func leavePaused(_ index: Int, _ now: Double) {
        guard transfers[index].record.notBefore != nil, let wait = transfers[index].record.wait else { return }
        paused.removeAll { $0 == index }
        waits.add(wait.reason, index, now - transfers[index].waitsFrom)
    }

    /// Adds a transfer to the waiting transfers.
    mutating func wait(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        transfers[index].waitsFrom = now
        let lane = transfer.lane
        let place: Int
        if let known = classIndex(of: transfer) {
            place = known
        } else {
            lanes[lane].classes.append(
                Class(
                    rules: transfer.record.rules, isLarge: transfer.record.isLarge, hasFailed: transfer.hasFailed,
                    since: now))
            place = lanes[lane].classes.count - 1
        }
        let waiting = lanes[lane].classes[place].waiting
        let position = waiting.lastIndex { rank($0) <= rank(index) }.map { $0 + 1 } ?? 0
        lanes[lane].classes[place].waiting.insert(index, at: position)
    }

    /// Returns the place of a transfer in its class: by highest priority, then by fewest failures, then by age.
    private func rank(_ index: Int) -> (Double, Int, Int) {
        (-transfers[index].record.priority, transfers[index].record.fruitless, index)
    }

    func classIndex(of transfer: SimulatedTransfer) -> Int? {
        let (rules, isLarge) = (transfer.record.rules, transfer.record.isLarge)
        return lanes[transfer.lane].classes.firstIndex {
            $0.rules == rules && $0.isLarge == isLarge && $0.hasFailed == transfer.hasFailed
        }
    }

    /// Removes a transfer from the waiting transfers, because its wait is over or its rules change.
    mutating func leaveWaiting(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        guard transfer.isWaiting, let place = classIndex(of: transfer) else { return }
        let group = lanes[transfer.lane].classes[place]
        lanes[transfer.lane].classes[place].waiting.removeAll { $0 == index }
        // The first task of an empty class begins a new wait, which the journal records.
        if group.waiting.count == 1 { lanes[transfer.lane].classes[place].reason = nil }
        if let reason = group.reason { waits.add(reason, index, now - max(group.since, transfer.waitsFrom)) }
    }

    /// Records the reason why the transfers of a class wait from now on.
    mutating func setReason(_ reason: WaitReason?, lane: Int, place: Int, _ now: Double) {
        let group = lanes[lane].classes[place]
        guard group.reason != reason else { return }
        if let old = group.reason {
            for index in group.waiting { waits.add(old, index, now - max(group.since, transfers[index].waitsFrom)) }
        }
        lanes[lane].classes[place].reason = reason
        lanes[lane].classes[place].since = now
    }

    /// Returns the totals of all waits, including current ones.
    func waitTotals(_ now: Double) -> [WaitTotals] {
        var waits = waits
        for group in lanes.flatMap(\.classes) {
            guard let reason = group.reason else { continue }
            for index in group.waiting { waits.add(reason, index, now - max(group.since, transfers[index].waitsFrom)) }
        }
        for index in paused {
            guard let wait = transfers[index].record.wait else { continue }
            waits.add(wait.reason, index, now - transfers[index].waitsFrom)
        }
        return waits.totals
    }
}
