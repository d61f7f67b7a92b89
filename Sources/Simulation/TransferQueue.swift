import NightshiftAPI
import Scheduler
import Transfers

/// All transfers of a trace, and the network that they share: what may run goes on, all at the same speed.
struct TransferQueue {
    /// By their ids, which count from 1.
    private(set) var transfers: [Transfer] = []
    var lanes: [Lane] = []
    /// The transfers that run, in the order in which they started.
    var running: [Int] = []
    let maximumTransfers: Int
    /// All transfers together.
    var bytesPerSecond = TransferQueue.defaultBytesPerSecond
    private var laneIndices: [LaneKey: Int] = [:]
    /// Boot seconds at which time itself changes something for a transfer, latest first.
    private var timers: [(time: Double, index: Int)] = []
    /// Transfers that are not to start yet.
    private var delayed: [Int] = []
    /// Boot seconds at which a large transfer's slice ends that others wait for.
    var nextLook: Double?
    /// What was decided and what has come of it since it was last taken.
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
        var host: String
        var maximumConnections = SessionSettings().httpMaximumConnectionsPerHost
        var classes: [Class] = []

        var isLoopback: Bool { host == "localhost" || host.hasPrefix("127.") || host == "[::1]" }
    }

    /// Those of a lane that wait and are alike for every decision; best first.
    struct Class {
        var rules: TransferRules
        var isLarge: Bool
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
        _ request: TracedTransfer, app: AppID?, isForced: Bool, notBefore: Double?, now: ClockReading
    ) {
        let lane = lane(LaneKey(app: app, session: request.session, host: request.host))
        let first = transfers.count
        for _ in 0..<request.count {
            let transfer = Transfer(
                id: TaskID(Int64(transfers.count + 1)), app: app, session: request.session, lane: lane,
                priority: request.priority, bytes: request.bytes, request: request.rules, rules: request.rules,
                isForced: isForced, deadline: now.bootSeconds + request.resourceTimeout,
                resourceTimeout: request.resourceTimeout, notBefore: notBefore, waitsFrom: now.bootSeconds)
            transfers.append(transfer)
            let index = transfers.count - 1
            transfers[index].rules = transfer.rules(at: now.bootSeconds)
            if transfers[index].rules.discretion != .none {
                for time in transfer.loosenings { setTimer(time, index) }
            }
            setTimer(transfer.deadline, index)
            if notBefore == nil {
                wait(index, now.bootSeconds)
            } else {
                delayed.append(index)
            }
        }
        totals.accepted += request.count
        var entry = JournalEntry(time: now.date, decision: .accepted, task: transfers[first].id, app: app)
        if request.count > 1 { entry.detail = "Tasks \(first + 1) to \(transfers.count)." }
        entry.inputs = [
            "session": request.session, "host": request.host, "bytes": String(request.bytes),
            "count": String(request.count), "discretion": transfers[first].rules.discretion.rawValue,
        ]
        if isForced { entry.inputs?["fromBackground"] = "yes" }
        entries.append(entry)
        if let notBefore {
            let wait = Wait(reason: .relaunchDelay, since: now.date, until: now.wallTime(ofBootSeconds: notBefore))
            entries.append(
                JournalEntry(time: now.date, decision: .held, task: transfers[first].id, app: app, wait: wait))
        }
    }

    private mutating func lane(_ key: LaneKey) -> Int {
        if let index = laneIndices[key] { return index }
        lanes.append(Lane(host: key.host))
        laneIndices[key] = lanes.count - 1
        return lanes.count - 1
    }

    private mutating func setTimer(_ time: Double, _ index: Int) {
        var low = 0
        var high = timers.count
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].time > time { low = middle + 1 } else { high = middle }
        }
        timers.insert((time, index), at: low)
    }

    // MARK: - Waiting

    /// Puts a transfer among those that wait.
    private mutating func wait(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        transfers[index].state = .waiting
        transfers[index].waitsFrom = now
        let lane = transfer.lane
        let place: Int
        if let known = classIndex(of: transfer) {
            place = known
        } else {
            lanes[lane].classes.append(Class(rules: transfer.rules, isLarge: transfer.isLarge, since: now))
            place = lanes[lane].classes.count - 1
        }
        let waiting = lanes[lane].classes[place].waiting
        let position = waiting.lastIndex { !precedes(index, $0) }.map { $0 + 1 } ?? 0
        lanes[lane].classes[place].waiting.insert(index, at: position)
    }

    /// The highest priority goes first and, of equals, the oldest.
    func precedes(_ one: Int, _ other: Int) -> Bool {
        (-transfers[one].priority, one) < (-transfers[other].priority, other)
    }

    private func classIndex(of transfer: Transfer) -> Int? {
        lanes[transfer.lane].classes.firstIndex { $0.rules == transfer.rules && $0.isLarge == transfer.isLarge }
    }

    /// Takes a transfer out of those that wait; its wait is over, or goes on under other rules.
    private mutating func leaveWaiting(_ index: Int, _ now: Double) {
        let transfer = transfers[index]
        guard transfer.state == .waiting, let place = classIndex(of: transfer) else { return }
        let group = lanes[transfer.lane].classes[place]
        lanes[transfer.lane].classes[place].waiting.removeAll { $0 == index }
        // Who comes into an empty class has a wait of its own to tell of.
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

    // MARK: - Steps

    mutating func start(_ index: Int, inputs: [String: String], _ now: ClockReading) {
        leaveWaiting(index, now.bootSeconds)
        transfers[index].state = .running(since: now.bootSeconds)
        running.append(index)
        let isFresh = transfers[index].received == 0
        var entry = entry(isFresh ? .started : .continued, index, now)
        if !isFresh { entry.detail = "From byte \(Int64(saturating: transfers[index].received))." }
        entry.inputs = inputs
        entries.append(entry)
    }

    mutating func interrupt(_ index: Int, _ reason: WaitReason, inputs: [String: String], _ now: ClockReading) {
        running.removeAll { $0 == index }
        wait(index, now.bootSeconds)
        if let place = classIndex(of: transfers[index]) {
            setReason(reason, lane: transfers[index].lane, place: place, now.bootSeconds)
        }
        totals.interruptions += 1
        var entry = entry(.held, index, now)
        entry.wait = Wait(reason: reason, since: now.date)
        entry.inputs = inputs
        entries.append(entry)
    }

    private mutating func end(_ index: Int, _ decision: Decision, error: TransferFailure? = nil, _ now: ClockReading) {
        leaveWaiting(index, now.bootSeconds)
        running.removeAll { $0 == index }
        delayed.removeAll { $0 == index }
        transfers[index].state = .ended
        ended.append(transfers[index])
        var entry = entry(decision, index, now)
        entry.error = error
        entries.append(entry)
    }

    func entry(_ decision: Decision, _ index: Int, _ now: ClockReading) -> JournalEntry {
        JournalEntry(time: now.date, decision: decision, task: transfers[index].id, app: transfers[index].app)
    }

    /// Its user force-quit the app.
    mutating func cancel(_ app: AppID, _ now: ClockReading) {
        for index in transfers.indices where transfers[index].app == app && transfers[index].state != .ended {
            totals.cancelled += 1
            end(index, .cancelled, now)
        }
    }

    /// The app is in front of its user: what it added in the background need not wait any more.
    mutating func lift(_ app: AppID, _ now: ClockReading) {
        var isLifted = false
        for index in transfers.indices where transfers[index].app == app && transfers[index].state != .ended {
            transfers[index].notBefore = nil
            guard transfers[index].isForced else { continue }
            isLifted = true
            transfers[index].isForced = false
            renewRules(index, now.bootSeconds)
        }
        guard isLifted else { return }
        entries.append(JournalEntry(time: now.date, decision: .conditionsLifted, app: app))
    }

    private mutating func renewRules(_ index: Int, _ now: Double) {
        let rules = transfers[index].rules(at: now)
        guard rules != transfers[index].rules else { return }
        let waits = transfers[index].state == .waiting
        if waits { leaveWaiting(index, now) }
        transfers[index].rules = rules
        if waits { wait(index, now) }
    }

    /// With the waits that are not over yet.
    func waitTotals(_ now: Double) -> [WaitTotals] {
        var waits = waits
        for group in lanes.flatMap(\.classes) {
            guard let reason = group.reason else { continue }
            for index in group.waiting { waits.add(reason, index, now - max(group.since, transfers[index].waitsFrom)) }
        }
        for index in delayed { waits.add(.relaunchDelay, index, now - transfers[index].waitsFrom) }
        return waits.totals
    }

    // MARK: - Time

    /// Boot seconds at which ``pass(_:)`` has something to do.
    func nextDeadline(_ now: Double) -> Double? {
        let share = bytesPerSecond / Double(max(1, running.count))
        let done = running.map { transfers[$0].missing }.min().map { missing in
            // Upwards: at that moment it is done.
            ((now + missing / share) * 1_000).rounded(.up) / 1_000
        }
        return [done, timers.last?.time, delayed.compactMap { transfers[$0].notBefore }.min(), nextLook]
            .compactMap(\.self).min()
    }

    /// Moves bytes for so many seconds; gives how many.
    mutating func move(_ seconds: Double) -> Double {
        guard !running.isEmpty else { return 0 }
        let share = bytesPerSecond / Double(running.count) * seconds
        var moved = 0.0
        for index in running {
            let bytes = min(share, transfers[index].missing)
            transfers[index].received += bytes
            moved += bytes
        }
        return moved
    }

    /// Completes what is whole, and does what time asks for.
    mutating func pass(_ now: ClockReading) {
        let time = now.bootSeconds
        // Half a byte: what rounding may have left.
        for index in running where transfers[index].missing < 0.5 {
            totals.completed += 1
            end(index, .completed, now)
        }
        while let timer = timers.last, timer.time <= time {
            timers.removeLast()
            let transfer = transfers[timer.index]
            guard transfer.state != .ended else { continue }
            if transfer.deadline <= time {
                totals.failed += 1
                end(timer.index, .failed, error: TransferFailure(.timedOut, "Its resource timeout is over."), now)
            } else {
                let old = transfer.rules.discretion
                renewRules(timer.index, time)
                guard transfers[timer.index].rules.discretion != old else { continue }
                var entry = entry(.conditionsLoosened, timer.index, now)
                entry.inputs = ["discretion": transfers[timer.index].rules.discretion.rawValue]
                entries.append(entry)
            }
        }
        for index in delayed where transfers[index].notBefore ?? 0 <= time {
            delayed.removeAll { $0 == index }
            waits.add(.relaunchDelay, index, time - transfers[index].waitsFrom)
            transfers[index].notBefore = nil
            transfers[index].rules = transfers[index].rules(at: time)
            wait(index, time)
        }
        if let look = nextLook, look <= time { nextLook = nil }
    }
}
