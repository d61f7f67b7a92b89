package import NightshiftAPI

/// Finds the task that takes the service down: after a fault, those that were under way run alone for a while, one after
/// the other, before anything else starts.
///
/// A trial lasts as long as it took to the fault, and some. Where that is more than everybody else can wait for, several are
/// tried together, and a fault leaves those. A task is *held* once it was under way at a second fault, and no other was.
/// See `docs/decisions/0021`.
package struct StartTrials: Sendable {
    /// At how many faults each suspect was under way.
    package private(set) var faults: [TaskID: Int]
    /// Suspects that have not been tried yet, the likeliest first.
    package private(set) var suspects: [TaskID]
    /// The suspects that are being tried: nothing else starts meanwhile.
    package private(set) var trial: Trial?
    /// For how many seconds each of them had been under way at the fault.
    private var ages: [TaskID: Double] = [:]
    /// Seconds that everything else still waits for trials.
    private var timeLeft = Self.patience
    /// Tried ones that made room for the next: their attempts have not ended by themselves.
    private var interrupted: Set<TaskID> = []

    package struct Trial: Sendable, Hashable {
        /// Those whose attempts have not ended yet.
        package fileprivate(set) var tasks: Set<TaskID>
        /// Boot seconds.
        package fileprivate(set) var since: Double
        /// Boot seconds.
        package fileprivate(set) var until: Double
        fileprivate var answered: Set<TaskID> = []
    }

    /// The findings of a service that starts, from the log of the last one.
    package struct Findings: Sendable, Hashable {
        /// The tasks that the fault counts against, each with its number of faults from here on.
        package var counted: [TaskID: Int] = [:]
        /// The tasks that wait for a person from here on, each with its number of faults.
        package var held: [TaskID: Int] = [:]
        /// The tasks that are cleared, because the fault is explained by another task.
        package var cleared: Set<TaskID> = []

        package init() {}
    }

    package init() {
        faults = [:]
        suspects = []
    }

    /// - Parameters:
    ///   - legacy: what the last process left.
    ///   - known: how many earlier faults each task was under way at.
    package static func examine(_ legacy: StartLog.Legacy, known: [TaskID: Int]) -> (trials: Self, findings: Findings) {
        var trials = Self()
        var findings = Findings()
        trials.faults = known
        guard legacy.fault != nil, !legacy.underWay.isEmpty else {
            trials.suspects = trials.likeliestFirst(Array(known.keys))
            return (trials, findings)
        }
        let isAlone = legacy.underWay.count == 1
        for attempt in legacy.underWay {
            // Absolute, since the last start may have counted this fault and died before it could forget it.
            let count = attempt.faults + 1
            findings.counted[attempt.task] = count
            trials.faults[attempt.task] = count
            trials.ages[attempt.task] = attempt.seconds
            if isAlone, count >= Self.faultsToHold { findings.held[attempt.task] = count }
        }
        if !findings.held.isEmpty {
            findings.cleared = Set(known.keys).subtracting(findings.held.keys)
            trials.faults = trials.faults.filter { findings.held[$0.key] != nil }
        }
        // Whoever was not under way has not done it.
        trials.suspects = trials.likeliestFirst(legacy.underWay.map(\.task).filter { findings.held[$0] == nil })
        return (trials, findings)
    }

    /// First those that were under way at more faults, then the one that began last.
    private func likeliestFirst(_ tasks: [TaskID]) -> [TaskID] {
        tasks.enumerated().sorted { first, second in
            let (one, other) = (faults[first.element] ?? 0, faults[second.element] ?? 0)
            return one != other ? one > other : first.offset < second.offset
        }.map(\.element)
    }

    /// Whether somebody is being tried, or still has to be: whatever else starts would be blamed with the guilty one.
    package var isPending: Bool { trial != nil || !suspects.isEmpty }

    /// Whether what runs makes room for the trial of a suspect that could not start any sooner: it was under way at more
    /// than one fault. Others are not worth that, and start as any task does.
    package func interruptsOthers(_ task: TaskID) -> Bool { faults[task] ?? 0 >= Self.faultsToHold }

    /// Who is tried together next: as few as the time that is left for all of them allows.
    ///
    /// - Parameter ready: those that can start now, the likeliest first.
    package func next(of ready: [TaskID]) -> [TaskID] {
        guard !ready.isEmpty else { return [] }
        let windows = ready.map(window)
        let size = (1...ready.count).first { size in
            let groups = stride(from: 0, to: windows.count, by: size)
            return groups.reduce(0) { $0 + (windows[$1...].prefix(size).max() ?? 0) } <= timeLeft
        }
        return Array(ready.prefix(size ?? ready.count))
    }

    /// Begins the trial of suspects.
    package mutating func begin(_ tasks: [TaskID], now: Double) {
        let tasks = Set(tasks).intersection(suspects)
        guard trial == nil, !tasks.isEmpty else { return }
        suspects.removeAll { tasks.contains($0) }
        trial = Trial(tasks: tasks, since: now, until: now)
        extend(now)
    }

    /// The start of tasks that are being tried is on its way: their time begins only now, however slow the disk was.
    package mutating func started(now: Double) {
        extend(now)
    }

    /// A server has answered a task that is being tried: what comes behind its answer has all of its time, whether the answer
    /// came at once or late.
    package mutating func answered(_ task: TaskID, now: Double) {
        guard trial?.tasks.contains(task) == true, trial?.answered.insert(task).inserted == true else { return }
        extend(now)
    }

    private mutating func extend(_ now: Double) {
        guard let current = trial else { return }
        let window = current.tasks.map(window).max() ?? 0
        let isAnswered = current.tasks.isSubset(of: current.answered)
        trial?.until = min(now + window + (isAnswered ? 0 : Self.patienceForAnswers), current.since + timeLeft)
    }

    /// The attempt has ended in order.
    ///
    /// - Returns: whether something was held against the task, which is forgotten.
    package mutating func ended(_ task: TaskID, now: Double) -> Bool {
        leave(task, now)
        guard interrupted.remove(task) == nil else { return false }
        suspects.removeAll { $0 == task }
        return faults.removeValue(forKey: task) != nil
    }

    /// Ends a trial whose time is over.
    ///
    /// - Returns: tasks that have to be interrupted, so that the next suspects are alone as well.
    package mutating func tick(now: Double) -> [TaskID] {
        guard let current = trial, now >= current.until else { return [] }
        for task in current.tasks { leave(task, now) }
        guard !suspects.isEmpty else { return [] }
        interrupted.formUnion(current.tasks)
        return current.tasks.sorted()
    }

    /// The suspect is not tried any more: it waits for a person, or starts as any task does.
    package mutating func removeSuspect(_ task: TaskID) {
        suspects.removeAll { $0 == task }
    }

    /// The suspect could not start after all, and is tried later.
    package mutating func postpone(_ task: TaskID, now: Double) {
        guard trial?.tasks.contains(task) == true else { return }
        suspects.append(task)
        leave(task, now)
    }

    /// The task is not tried any more; with the last one the trial ends.
    private mutating func leave(_ task: TaskID, _ now: Double) {
        guard let current = trial, trial?.tasks.remove(task) != nil, trial?.tasks.isEmpty == true else { return }
        trial = nil
        timeLeft -= max(0, now - current.since)
        // Everything else has waited for long enough.
        if timeLeft < Self.shortest { suspects = [] }
    }

    /// Seconds for which a suspect is tried: what it did at the fault takes about as long again.
    private func window(_ task: TaskID) -> Double {
        min((ages[task] ?? Self.unknownAge) * 1.5 + Self.shortest, Self.longest)
    }

    /// Seconds within which an attempt has started on any machine.
    private static let shortest: Double = 2
    /// Seconds for which servers may be slower with their answers than they were before the fault.
    private static let patienceForAnswers: Double = 8
    /// Seconds, where a service that was ended from outside has left trials behind: more than most faults need.
    private static let unknownAge: Double = 20
    /// Seconds for which everything else waits after one fault, in all: twenty minutes are little beside the time that a
    /// transfer has, and long enough for as many suspects as run at once by default, one by one where the fault came within
    /// twenty seconds of their starts, and in a few groups where it took minutes.
    package static let patience: Double = 1_200
    /// Seconds: two halves of the suspects can always be tried. What does not happen within ten minutes of a start is not its
    /// timers' doing; it needs bytes, and the next attempt begins behind those that are here.
    package static let longest: Double = patience / 2
    /// The first is chance, or somebody else's.
    private static let faultsToHold = 2
}
