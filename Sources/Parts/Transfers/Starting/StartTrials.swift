package import NightshiftAPI

/// Finds the task that crashes the service. After a crash, the tasks that were running are retried in isolation for a
/// while, one after the other, before anything else starts.
///
/// A trial lasts as long as the tasks had been running before the crash, plus some time. If one trial per task would
/// take too long for the tasks that wait, several crash suspects are tried together. If the service crashes again, only
/// these tasks remain crash suspects. A task is blocked once it was running at a second crash and no other task was.
/// See `docs/decisions/0021`.
package struct StartTrials: Sendable {
    /// The number of crashes for each crash suspect.
    package private(set) var faults: [TaskID: Int]
    /// The crash suspects that have not been retried yet, the likeliest first.
    package private(set) var crashSuspects: [TaskID]
    /// The crash suspects that are being retried now. Other tasks do not start meanwhile.
    package private(set) var trial: Trial?
    /// The number of seconds that each crash suspect had been running at the crash.
    private var ages: [TaskID: Double] = [:]
    /// The number of seconds that other tasks will still wait for trials.
    private var timeLeft = Self.timeout
    /// Retried tasks that were interrupted for the next trial. The end of such an attempt does not show that it ran
    /// without a crash.
    private var interrupted: Set<TaskID> = []

    package struct Trial: Sendable, Hashable {
        /// The tasks of the trial whose attempts have not ended yet.
        package fileprivate(set) var tasks: Set<TaskID>
        /// The start of the trial in boot seconds.
        package fileprivate(set) var since: Double
        /// The end of the trial in boot seconds.
        package fileprivate(set) var until: Double
        fileprivate var answered: Set<TaskID> = []
    }

    /// The results of reading the previous process's log at start-up.
    package struct Findings: Sendable, Hashable {
        /// The tasks that were running at the crash, each with its new number of crashes.
        package var counted: [TaskID: Int] = [:]
        /// The tasks that now wait for a person's decision, each with its number of crashes.
        package var held: [TaskID: Int] = [:]
        /// The tasks that are no longer crash suspects, because another task explains the crash.
        package var cleared: Set<TaskID> = []

        package init() {}
    }

    package init() {
        faults = [:]
        crashSuspects = []
    }

    /// Decides which tasks are crash suspects.
    ///
    /// - Parameters:
    ///   - legacy: the log of the previous process.
    ///   - known: the number of earlier crashes of each task.
    package static func examine(_ legacy: StartLog.Legacy, known: [TaskID: Int]) -> (trials: Self, findings: Findings) {
        var trials = Self()
        var findings = Findings()
        trials.faults = known
        guard legacy.fault != nil, !legacy.underWay.isEmpty else {
            trials.crashSuspects = trials.likeliestFirst(Array(known.keys))
            return (trials, findings)
        }
        let isAlone = legacy.underWay.count == 1
        for attempt in legacy.underWay {
            // The code sets the total and does not increment it. An earlier start may have counted this crash, and
            // ended before it cleared the log.
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
        // A task that was not running cannot have caused the crash.
        trials.crashSuspects = trials.likeliestFirst(legacy.underWay.map(\.task).filter { findings.held[$0] == nil })
        return (trials, findings)
    }

    /// Returns the crash suspects, with the highest number of crashes first. If two suspects have the same number, the
    /// one that began last comes first.
    private func likeliestFirst(_ tasks: [TaskID]) -> [TaskID] {
        tasks.enumerated().sorted { first, second in
            let (one, other) = (faults[first.element] ?? 0, faults[second.element] ?? 0)
            return one != other ? one > other : first.offset < second.offset
        }.map(\.element)
    }

    /// Whether a trial is running or still to come. Any other task that starts would also become a crash suspect.
    package var isPending: Bool { trial != nil || !crashSuspects.isEmpty }

    /// Returns whether running tasks are interrupted to retry this crash suspect. True only after more than one crash.
    /// Other crash suspects wait, and start like any task.
    package func interruptsOthers(_ task: TaskID) -> Bool { faults[task] ?? 0 >= Self.faultsToHold }

    /// Returns the crash suspects to retry together next: as few as the remaining time for all of them allows.
    ///
    /// - Parameter ready: the crash suspects that can start now, the likeliest first.
    package func next(of ready: [TaskID]) -> [TaskID] {
        guard !ready.isEmpty else { return [] }
        let windows = ready.map(window)
        let size = (1...ready.count).first { size in
            let groups = stride(from: 0, to: windows.count, by: size)
            return groups.reduce(0) { $0 + (windows[$1...].prefix(size).max() ?? 0) } <= timeLeft
        }
        return Array(ready.prefix(size ?? ready.count))
    }

    /// Begins the trial of crash suspects.
    package mutating func begin(_ tasks: [TaskID], now: Double) {
        let tasks = Set(tasks).intersection(crashSuspects)
        guard trial == nil, !tasks.isEmpty else { return }
        crashSuspects.removeAll { tasks.contains($0) }
        trial = Trial(tasks: tasks, since: now, until: now)
        extend(now)
    }

    /// Starts the time of the trial. The time begins only when the tasks really start, even if the disk is slow.
    package mutating func started(now: Double) {
        extend(now)
    }

    /// Restarts the time of a retried task because a server has answered it. The work after the response thus has its
    /// full time after a slow response as well.
    package mutating func answered(_ task: TaskID, now: Double) {
        guard trial?.tasks.contains(task) == true, trial?.answered.insert(task).inserted == true else { return }
        extend(now)
    }

    private mutating func extend(_ now: Double) {
        guard let current = trial else { return }
        let window = current.tasks.map(window).max() ?? 0
        let isAnswered = current.tasks.isSubset(of: current.answered)
        trial?.until = min(now + window + (isAnswered ? 0 : Self.answersTimeout), current.since + timeLeft)
    }

    /// Records that the attempt ended without a crash.
    ///
    /// - Returns: whether crashes were recorded for the task. They are forgotten now.
    package mutating func ended(_ task: TaskID, now: Double) -> Bool {
        leave(task, now)
        guard interrupted.remove(task) == nil else { return false }
        crashSuspects.removeAll { $0 == task }
        return faults.removeValue(forKey: task) != nil
    }

    /// Ends a trial whose time is over.
    ///
    /// - Returns: the tasks that have to be interrupted, so that the next crash suspects are isolated as well.
    package mutating func tick(now: Double) -> [TaskID] {
        guard let current = trial, now >= current.until else { return [] }
        for task in current.tasks { leave(task, now) }
        guard !crashSuspects.isEmpty else { return [] }
        interrupted.formUnion(current.tasks)
        return current.tasks.sorted()
    }

    /// Removes a crash suspect without a trial, because the task waits for a person's decision or starts like any task.
    package mutating func removeSuspect(_ task: TaskID) {
        crashSuspects.removeAll { $0 == task }
    }

    /// Postpones a crash suspect that could not start.
    package mutating func postpone(_ task: TaskID, now: Double) {
        guard trial?.tasks.contains(task) == true else { return }
        crashSuspects.append(task)
        leave(task, now)
    }

    /// Removes a task from the trial. When the last task is removed, the trial ends.
    private mutating func leave(_ task: TaskID, _ now: Double) {
        guard let current = trial, trial?.tasks.remove(task) != nil, trial?.tasks.isEmpty == true else { return }
        trial = nil
        timeLeft -= max(0, now - current.since)
        // The other tasks have waited long enough.
        if timeLeft < Self.shortest { crashSuspects = [] }
    }

    /// Returns the number of seconds for the trial of a crash suspect: one and a half times as long as the suspect ran
    /// before the crash, and ``shortest`` seconds more. The action that caused the crash takes about as long again.
    private func window(_ task: TaskID) -> Double {
        min((ages[task] ?? Self.unknownAge) * 1.5 + Self.shortest, Self.longest)
    }

    /// The number of seconds within which an attempt has started on any machine.
    private static let shortest: Double = 2
    /// The number of additional seconds that servers may need for their responses, compared with the time before the
    /// crash.
    private static let answersTimeout: Double = 8
    /// The number of seconds for a crash suspect whose running time is unknown because the process was killed: longer
    /// than most crashes need.
    private static let unknownAge: Double = 20
    /// The total number of seconds that other tasks wait after one crash. Twenty minutes are short compared with the
    /// time that a transfer has. They are enough to retry the default number of running transfers one by one if the
    /// crash came within twenty seconds of their starts, and in a few groups if it took minutes.
    package static let timeout: Double = 1_200
    /// The longest trial in seconds, so that two halves of the crash suspects can always be retried. A crash more than
    /// ten minutes after a start is not caused by timers but by bytes, and the next attempt continues after the bytes
    /// on disk.
    package static let longest: Double = timeout / 2
    /// The number of crashes after which a task is blocked. The first crash may be chance, or caused by another task.
    private static let faultsToHold = 2
}
