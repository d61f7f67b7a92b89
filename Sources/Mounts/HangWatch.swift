/// The calls to file systems in progress, and the file systems that do not answer. Pure.
///
/// A file system counts as silent while one of its calls has been in progress for ``timeout`` seconds or more. Calls
/// that wait for an earlier call of the same queue have not begun and do not count.
package struct HangWatch: Sendable {
    /// The number of a call, unique in one watch.
    package struct Call: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// A file system that does not answer.
    package struct Silence: Hashable, Sendable {
        /// The path of the call that was not answered.
        package var path: String
        /// Boot seconds at which that call began.
        package var since: Double
    }

    private struct Running: Sendable {
        var place: FileSystemKey
        var path: String
        var since: Double
    }

    private var running: [Call: Running] = [:]
    private var lastNumber = 0
    /// The file systems that were found silent and have not answered since.
    private var silent: Set<FileSystemKey> = []

    /// Seconds that a call may take before its file system counts as silent. A disk that spins up can take this long.
    package static let timeout: Double = 5

    package init() {}

    /// Records the start of a call.
    package mutating func begin(_ place: FileSystemKey, _ path: String, now: Double) -> Call {
        lastNumber += 1
        let call = Call(number: lastNumber)
        running[call] = Running(place: place, path: path, since: now)
        return call
    }

    /// Records the end of a call.
    ///
    /// - Returns: whether a file system that was silent answers again.
    package mutating func end(_ call: Call, now: Double) -> Bool {
        guard let ended = running.removeValue(forKey: call) else { return false }
        // The call may have become overdue since the last look.
        let wasSilent = silent.contains(ended.place) || ended.since + Self.timeout <= now
        guard wasSilent, silence(of: ended.place, now: now) == nil else { return false }
        silent.remove(ended.place)
        return true
    }

    /// - Returns: the file systems that have become silent since the last look.
    package mutating func look(now: Double) -> [FileSystemKey] {
        let found = Set(running.values.filter { $0.since + Self.timeout <= now }.map(\.place)).subtracting(silent)
        silent.formUnion(found)
        return found.sorted { $0.device < $1.device }
    }

    /// The time of the next ``look(now:)``; nil while no call is under way that may still become overdue.
    package func nextDeadline(now: Double) -> Double? {
        running.values.map { $0.since + Self.timeout }.filter { $0 > now }.min()
    }

    /// The silence of a file system, described by its oldest call; nil if it answers.
    package func silence(of place: FileSystemKey, now: Double) -> Silence? {
        running.values.filter { $0.place == place && $0.since + Self.timeout <= now }.min { $0.since < $1.since }
            .map { Silence(path: $0.path, since: $0.since) }
    }

    /// The time at which the file system's oldest call began.
    package func oldest(of place: FileSystemKey) -> Double? {
        running.values.filter { $0.place == place }.map(\.since).min()
    }

    /// All file systems that do not answer.
    package func silences(now: Double) -> [FileSystemKey: Silence] {
        var result: [FileSystemKey: Silence] = [:]
        for place in Set(running.values.map(\.place)) { result[place] = silence(of: place, now: now) }
        return result
    }
}
