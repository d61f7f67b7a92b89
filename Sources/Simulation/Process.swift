import NightshiftAPI

/// A process that exists in a trace alone: what it is busy with, and until when.
///
/// Its work takes time that it runs; while it is frozen, all of it stands still.
struct Process {
    let processID: Int32
    private(set) var isFrozen = false
    private(set) var isConnected = false
    private(set) var jobs: [Job] = []
    /// Background tasks that are open, by the numbers that the process gave them.
    private(set) var openTasks: [Int64] = []
    private var nextNumber: Int64 = 1

    struct Job {
        var kind: Kind
        /// Awake seconds at which it is done; while the process is frozen, the seconds that it still takes.
        var time: Double

        enum Kind: Hashable {
            case connect
            case acknowledge(ProcessCommand)
            case task(Int64)
            case exit
        }
    }

    init(processID: Int32) {
        self.processID = processID
    }

    /// Awake seconds at which the next job is done.
    var nextDone: Double? { isFrozen ? nil : jobs.map(\.time).min() }

    /// Takes the job that is done first, if one is.
    mutating func takeDone(_ now: Double) -> Job.Kind? {
        guard !isFrozen, let time = nextDone, time <= now, let index = jobs.firstIndex(where: { $0.time == time })
        else {
            return nil
        }
        let kind = jobs.remove(at: index).kind
        if kind == .connect { isConnected = true }
        return kind
    }

    mutating func begin(_ kind: Job.Kind, seconds: Double, _ now: Double) {
        jobs.append(Job(kind: kind, time: VirtualClock.milliseconds(isFrozen ? seconds : now + seconds)))
    }

    mutating func openTask() -> Int64 {
        defer { nextNumber += 1 }
        openTasks.append(nextNumber)
        return nextNumber
    }

    mutating func closeTask(_ number: Int64) {
        openTasks.removeAll { $0 == number }
        jobs.removeAll { $0.kind == .task(number) }
    }

    /// Takes away the command under way by which the app was woken, because its expiration handler ends that work.
    mutating func withdrawWake(_ source: WakeSource, through: Int64?) -> ProcessCommand? {
        for (index, job) in jobs.enumerated() {
            guard case .acknowledge(let command) = job.kind, command.action == .handleWake, command.source == source,
                command.through == through
            else { continue }
            jobs.remove(at: index)
            return command
        }
        return nil
    }

    mutating func freeze(_ now: Double) {
        guard !isFrozen else { return }
        isFrozen = true
        for index in jobs.indices { jobs[index].time = VirtualClock.milliseconds(max(0, jobs[index].time - now)) }
    }

    mutating func thaw(_ now: Double) {
        guard isFrozen else { return }
        isFrozen = false
        for index in jobs.indices { jobs[index].time = VirtualClock.milliseconds(now + jobs[index].time) }
    }
}
