package import NightshiftAPI

/// Finds the task that takes the service down: after a fault, those that were under way run alone for a moment, one after
/// the other, before anything else starts.
///
/// A task is *held* once it was under way at a second fault and no other was, or at a fourth. See `docs/decisions/0021`.
package struct StartTrials: Sendable {
    /// At how many faults each suspect was under way.
    package private(set) var faults: [TaskID: Int]
    /// Suspects that have not been tried yet, the likeliest first.
    package private(set) var suspects: [TaskID]
    /// The suspect that is being tried: nothing else starts meanwhile.
    package private(set) var trial: Trial?
    /// Tried ones that made room for the next: their attempts have not ended by themselves.
    private var interrupted: Set<TaskID> = []

    package struct Trial: Sendable, Hashable {
        package var task: TaskID
        /// Boot seconds.
        package var until: Double
        package var isAnswered = false
    }

    /// The findings of a service that starts, from the log of the last one.
    package struct Findings: Sendable, Hashable {
        /// The tasks that the fault counts against.
        package var counted: Set<TaskID> = []
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
        if legacy.fault != nil {
            let isAlone = legacy.underWay.count == 1
            for task in legacy.underWay {
                findings.counted.insert(task)
                let count = (known[task] ?? 0) + 1
                trials.faults[task] = count
                if count >= (isAlone ? Self.faultsAlone : Self.faultsAmongOthers) { findings.held[task] = count }
            }
            if isAlone, !findings.held.isEmpty {
                findings.cleared = Set(known.keys).subtracting(findings.held.keys)
                trials.faults = trials.faults.filter { findings.held[$0.key] != nil }
            }
        }
        let place = Dictionary(uniqueKeysWithValues: legacy.underWay.enumerated().map { ($1, $0) })
        trials.suspects = trials.faults.keys.filter { findings.held[$0] == nil }.sorted { first, second in
            let (one, other) = (trials.faults[first] ?? 0, trials.faults[second] ?? 0)
            if one != other { return one > other }
            return (place[first] ?? .max, first) < (place[second] ?? .max, second)
        }
        return (trials, findings)
    }

    /// Whether somebody is being tried, or still has to be: whatever else starts would be blamed with the guilty one.
    package var isPending: Bool { trial != nil || !suspects.isEmpty }

    /// Begins the trial of a suspect.
    package mutating func begin(_ task: TaskID, now: Double) {
        guard let index = suspects.firstIndex(of: task) else { return }
        suspects.remove(at: index)
        trial = Trial(task: task, until: now + Self.window(faults: faults[task] ?? 1))
    }

    /// The start of a task that is being tried is on its way: its time begins only now, however slow the disk was.
    package mutating func started(_ task: TaskID, now: Double) {
        guard let current = trial, current.task == task, !current.isAnswered else { return }
        trial = Trial(task: task, until: now + Self.window(faults: faults[task] ?? 1))
    }

    /// The server has answered a task that is being tried: most of what can go wrong has gone well.
    package mutating func answered(_ task: TaskID, now: Double) {
        guard let current = trial, current.task == task else { return }
        let rest = Self.window(faults: faults[task] ?? 1) / 8
        trial = Trial(task: task, until: min(current.until, now + rest), isAnswered: true)
    }

    /// The attempt has ended in order.
    ///
    /// - Returns: whether something was held against the task, which is forgotten.
    package mutating func ended(_ task: TaskID) -> Bool {
        if trial?.task == task { trial = nil }
        guard interrupted.remove(task) == nil else { return false }
        suspects.removeAll { $0 == task }
        return faults.removeValue(forKey: task) != nil
    }

    /// Ends a trial whose time is over.
    ///
    /// - Returns: a task that has to be interrupted, so that the next suspect is alone as well.
    package mutating func tick(now: Double) -> TaskID? {
        guard let current = trial, now >= current.until else { return nil }
        trial = nil
        guard !suspects.isEmpty else { return nil }
        interrupted.insert(current.task)
        return current.task
    }

    /// The suspect waits for a person: it is not tried before that.
    package mutating func removeSuspect(_ task: TaskID) {
        suspects.removeAll { $0 == task }
    }

    /// The suspect could not start after all, and is tried later.
    package mutating func postpone(_ task: TaskID) {
        guard trial?.task == task else { return }
        trial = nil
        suspects.append(task)
    }

    /// Seconds for which a suspect runs alone: long enough for a start, and longer each time that was not enough.
    private static func window(faults: Int) -> Double {
        [2, 8, 32][min(max(faults, 1), 3) - 1]
    }

    private static let faultsAlone = 2
    private static let faultsAmongOthers = 4
}
