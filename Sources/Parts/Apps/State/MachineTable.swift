import Executors
import NightshiftAPI
import Store

/// The machines of all apps, with values computed over all of them: the next deadline, the combined activity, and the
/// app of a process. The cost of changing one machine does not depend on their number.
struct MachineTable: Sendable {
    private var machines: [AppID: AppMachine] = [:]
    private var deadlines = Deadlines<AppID>()
    /// The apps of each process, by pid.
    private var owners: [Int32: Set<AppID>] = [:]
    private var holders: [AppID: AwakeHolder] = [:]
    private var wakes = 0
    private var working = 0

    subscript(_ id: AppID) -> AppMachine? {
        get { machines[id] }
        set {
            if let old = machines[id] { remove(old, id) }
            machines[id] = newValue
            if let newValue { add(newValue, id) }
            deadlines[id] = newValue?.nextDeadline
        }
    }

    mutating func removeValue(forKey id: AppID) -> AppMachine? {
        defer { self[id] = nil }
        return self[id]
    }

    var keys: Dictionary<AppID, AppMachine>.Keys { machines.keys }

    /// The combined activity of all machines.
    var activity: AppActivity {
        var activity = AppActivity()
        activity.holders = holders.values.sorted { $0.app.rawValue < $1.app.rawValue }
        activity.wakes = wakes
        activity.working = working
        return activity
    }

    /// The earliest deadline of any machine, in awake seconds.
    var nextDeadline: Double? { deadlines.next }

    /// Returns the apps whose deadlines are over, the earliest first, and clears these deadlines. An app gets a
    /// deadline again when its machine is set next.
    mutating func takeDue(_ now: ClockReading) -> [AppID] { deadlines.takeDue(now.awakeSeconds) }

    /// Returns the app whose machine manages a process.
    func app(of process: ProcessIdentity) -> AppID? {
        owners[process.pid]?.first { machines[$0]?.record.process.map { ProcessIdentity($0) } == process }
    }

    private mutating func add(_ machine: AppMachine, _ id: AppID) {
        if let pid = machine.record.process?.processID { owners[pid, default: []].insert(id) }
        if let holder = machine.holder { holders[id] = holder }
        wakes += machine.wakesUnderWay
        if machine.isWorking { working += 1 }
    }

    private mutating func remove(_ machine: AppMachine, _ id: AppID) {
        if let pid = machine.record.process?.processID {
            owners[pid]?.remove(id)
            if owners[pid]?.isEmpty == true { owners[pid] = nil }
        }
        holders[id] = nil
        wakes -= machine.wakesUnderWay
        if machine.isWorking { working -= 1 }
    }
}

extension MachineTable: Sequence {
    func makeIterator() -> Dictionary<AppID, AppMachine>.Iterator { machines.makeIterator() }
}
