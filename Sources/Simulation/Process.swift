import NightshiftAPI

/// A simulated process, with its current jobs and their end times.
///
/// Jobs advance only while the process runs. While it is frozen, they are paused.
struct Process {
    let processID: Int32
    private(set) var isFrozen = false
    private(set) var isConnected = false
    private(set) var jobs: [Job] = []
    /// The open background tasks, by the numbers that the process gave them.
    private(set) var openTasks: [Int64] = []
    private var nextNumber: Int64 = 1

    struct Job {
        var kind: Kind
        /// The end of the job in awake seconds. While the process is frozen, the number of seconds that remain.
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

    /// The end of the next job in awake seconds.
    var nextDone: Double? { isFrozen ? nil : jobs.map(\.time).min() }

    /// Removes and returns the job that ends first; nil if no job has ended.
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

    /// Removes and returns the wake command in progress, because the expiration handler of the app ends the work for
    /// it.
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
