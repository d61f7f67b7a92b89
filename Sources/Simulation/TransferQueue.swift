import NightshiftAPI
import Scheduler
import Transfers

/// All transfers of a trace, and the network that they share: what may run goes on, all at the same speed.
///
/// The decisions are made by the service's own values: ``Admission``, ``HeldClass``, ``Discretion``, `HostTable` and
/// `FailurePause`.
struct TransferQueue {
    /// By their ids, which count from 1.
    var transfers: [Transfer] = []
    var lanes: [Lane] = []
    /// The transfers that run, in the order in which they started.
    var running: [Int] = []
    /// Those that have just begun at hosts that fail.
    var refused: [Int] = []
    /// Transfers that have a pause of their own.
    var paused: [Int] = []
    let maximumTransfers: Int
    /// All transfers together.
    var bytesPerSecond = TransferQueue.defaultBytesPerSecond
    /// The troubles of hosts, and the faults that the trace gives them.
    var hosts = HostTable()
    var failing: [String: TracedHost.Failing] = [:]
    /// The order in which lanes take turns where there is only one connection.
    var turns = ConnectionTurns<Int>()
    private var laneIndices: [LaneKey: Int] = [:]
    /// Boot seconds at which time itself changes something for a transfer, latest first.
    var timers: [(time: Double, index: Int)] = []
    /// Boot seconds at which time alone may let something start or make room.
    var nextLook: Double?
    /// The decisions and their results since they were last taken.
    var entries: [JournalEntry] = []
    var ended: [Transfer] = []
    var waits = WaitLedger()
    var totals = TransferTotals()

    /// 20 Mbit/s, where a trace says nothing.
    static let defaultBytesPerSecond: Double = 2_500_000

    private struct LaneKey: Hashable {
        var app: AppID?
        var session: String
        var host: String
    }

    /// The transfers of one session with one host.
    struct Lane {
        let host: String
        let isLoopback: Bool
        var maximumConnections = SessionSettings().httpMaximumConnectionsPerHost
        var classes: [Class] = []

        init(host: String) {
            self.host = host
            isLoopback = Loopback.contains(host: host)
        }

        /// Hosts of a trace have one scheme and one port, and no proxy stands before them.
        var way: HostTable.Way { HostTable.Way(origin: host, proxy: nil) }

        func needs(_ rules: TransferRules) -> HeldClass { HeldClass(rules: rules, isLoopback: isLoopback) }
    }

    /// Those of a lane that wait and are alike for every decision; best first.
    struct Class {
        var rules: TransferRules
        var isLarge: Bool
        var hasFailed: Bool
        var waiting: [Int] = []
        /// Why they wait, and since when.
        var reason: WaitReason?
        var since = 0.0
    }

    init(maximumTransfers: Int?) {
        self.maximumTransfers = maximumTransfers ?? ServiceLimits.defaultMaximumTransfers
    }

    // MARK: - Intake

    /// Takes transfers on.
    ///
    /// - Parameters:
    ///   - isForced: whether they wait for a good moment because their app is in the background.
    ///   - notBefore: boot seconds before which they do not start.
    mutating func add(
        _ request: TracedTransfer, app: AppID?, isForced: Bool, notBefore: Double?, _ moment: DeviceMoment,
        _ now: ClockReading
    ) {
        let lane = lane(LaneKey(app: app, session: request.session, host: request.host))
        let first = transfers.count
        for index in first..<first + request.count {
            let transfer = Transfer(
                request, id: TaskID(Int64(index + 1)), app: app, lane: lane, isForced: isForced, now: now.bootSeconds)
            transfers.append(transfer)
            setTimers(index)
            if let notBefore {
                pause(index, Transfer.Pause(until: notBefore, reason: .relaunchDelay), now.bootSeconds)
            } else {
                wait(index, now.bootSeconds)
            }
        }
        totals.accepted += request.count
        var entry = JournalEntry.accepted(
            transfers[first].id, through: TaskID(Int64(transfers.count)), at: now.date)
        entry.app = app
        entry.inputs = [
            "session": request.session, "host": request.host, "bytes": String(request.bytes),
            "count": String(request.count), "discretion": transfers[first].rules.discretion.rawValue,
        ]
        if isForced { entry.inputs?["fromBackground"] = "yes" }
        entries.append(entry)
        let classes = transfers[first...].map { notBefore == nil ? needs(of: $0) : nil }
        for (offset, held) in HeldClass.heldFromTheFirst(classes, moment, now) {
            var held = held
            held.task = transfers[first + offset].id
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

    /// Time ends a transfer, and loosens what it needs before.
    private mutating func setTimers(_ index: Int) {
        setTimer(transfers[index].limit.deadline, index)
        if let time = transfers[index].discretion.loosensAt { setTimer(time, index) }
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

    func needs(of transfer: Transfer) -> HeldClass { lanes[transfer.lane].needs(transfer.rules) }

    // MARK: - Waiting

    /// Lets a transfer wait for a time of its own.
    mutating func pause(_ index: Int, _ pause: Transfer.Pause, _ now: Double) {
        transfers[index].pause = pause
        transfers[index].state = .paused
        transfers[index].waitsFrom = now
        paused.append(index)
    }

    /// Its own pause is over; from here on it waits for its turn.
    mutating func endPause(_ index: Int, _ now: Double) {
        guard let pause = transfers[index].pause else { return }
        paused.removeAll { $0 == index }
        transfers[index].pause = nil
        waits.add(pause.reason, index, now - transfers[index].waitsFrom)
        wait(index, now)
    }

    /// Puts a transfer among those that wait.
    mutating func wait(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        transfers[index].state = .waiting
        transfers[index].waitsFrom = now
        let lane = transfer.lane
        let place: Int
        if let known = classIndex(of: transfer) {
            place = known
        } else {
            lanes[lane].classes.append(
                Class(
                    rules: transfer.rules, isLarge: transfer.isLarge, hasFailed: transfer.hasFailed, since: now))
            place = lanes[lane].classes.count - 1
        }
        let waiting = lanes[lane].classes[place].waiting
        let position = waiting.lastIndex { !precedes(index, $0) }.map { $0 + 1 } ?? 0
        lanes[lane].classes[place].waiting.insert(index, at: position)
    }

    /// The highest priority goes first and, of equals, who has failed least, then the oldest.
    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (-transfers[one].priority, transfers[one].attempts.fruitless, one)
            < (-transfers[other].priority, transfers[other].attempts.fruitless, other)
    }

    func classIndex(of transfer: Transfer) -> Int? {
        lanes[transfer.lane].classes.firstIndex {
            $0.rules == transfer.rules && $0.isLarge == transfer.isLarge && $0.hasFailed == transfer.hasFailed
        }
    }

    /// Takes a transfer out of those that wait; its wait is over, or goes on under other rules.
    mutating func leaveWaiting(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        guard transfer.state == .waiting, let place = classIndex(of: transfer) else { return }
        let group = lanes[transfer.lane].classes[place]
        lanes[transfer.lane].classes[place].waiting.removeAll { $0 == index }
        // The first task of an empty class begins a wait that the journal tells of.
        if group.waiting.count == 1 { lanes[transfer.lane].classes[place].reason = nil }
        if let reason = group.reason { waits.add(reason, index, now - max(group.since, transfer.waitsFrom)) }
    }

    /// Notes why the transfers of a class wait from now on.
    mutating func setReason(_ reason: WaitReason?, lane: Int, place: Int, _ now: Double) {
        let group = lanes[lane].classes[place]
        guard group.reason != reason else { return }
        if let old = group.reason {
            for index in group.waiting { waits.add(old, index, now - max(group.since, transfers[index].waitsFrom)) }
        }
        lanes[lane].classes[place].reason = reason
        lanes[lane].classes[place].since = now
    }

    /// With the waits that are not over yet.
    func waitTotals(_ now: Double) -> [WaitTotals] {
        var waits = waits
        for group in lanes.flatMap(\.classes) {
            guard let reason = group.reason else { continue }
            for index in group.waiting { waits.add(reason, index, now - max(group.since, transfers[index].waitsFrom)) }
        }
        for index in paused {
            guard let pause = transfers[index].pause else { continue }
            waits.add(pause.reason, index, now - transfers[index].waitsFrom)
        }
        return waits.totals
    }
}
