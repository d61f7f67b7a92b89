/// The calls to file systems in progress, and the file systems that do not respond. A pure value.
///
/// A file system counts as silent while one of its calls has been in progress for ``timeout`` seconds or more. Calls
/// that wait for an earlier call of the same queue have not begun, and do not count.
package struct HangWatch: Sendable {
    /// The number of a call. It is unique in one watch.
    package struct Call: Hashable, Sendable {
        fileprivate let number: Int
    }

    /// The silence of a file system that does not respond.
    package struct Silence: Hashable, Sendable {
        /// The path of the call that got no response.
        package var path: String
        /// The time at which that call began, in boot seconds.
        package var since: Double
    }

    private struct Running: Sendable {
        var place: FileSystemKey
        var path: String
        var since: Double
    }

    private var running: [Call: Running] = [:]
    private var lastNumber = 0
    /// The file systems that were found silent and have not responded since.
    private var silent: Set<FileSystemKey> = []

    /// The number of seconds that a call may take before its file system counts as silent. A disk may need this long to
    /// spin up.
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
    /// - Returns: whether a silent file system responds again.
    package mutating func end(_ call: Call, now: Double) -> Bool {
        guard let ended = running.removeValue(forKey: call) else { return false }
        // The call may have become overdue after the last call to `look(now:)`.
        let wasSilent = silent.contains(ended.place) || ended.since + Self.timeout <= now
        guard wasSilent, silence(of: ended.place, now: now) == nil else { return false }
        silent.remove(ended.place)
        return true
    }

    /// Returns the file systems that have become silent since the last call to this function.
    package mutating func look(now: Double) -> [FileSystemKey] {
        let found = Set(running.values.filter { $0.since + Self.timeout <= now }.map(\.place)).subtracting(silent)
        silent.formUnion(found)
        return found.sorted { $0.device < $1.device }
    }

    /// Returns the time of the next ``look(now:)``; nil if no call in progress can still become overdue.
    package func nextDeadline(now: Double) -> Double? {
        running.values.map { $0.since + Self.timeout }.filter { $0 > now }.min()
    }

    /// Returns the silence of a file system, described by its oldest call; nil if the file system responds.
    package func silence(of place: FileSystemKey, now: Double) -> Silence? {
        running.values.filter { $0.place == place && $0.since + Self.timeout <= now }.min { $0.since < $1.since }
            .map { Silence(path: $0.path, since: $0.since) }
    }

    /// Returns the time at which the file system's oldest call in progress began.
    package func oldest(of place: FileSystemKey) -> Double? {
        running.values.filter { $0.place == place }.map(\.since).min()
    }

    /// Returns all file systems that do not respond.
    package func silences(now: Double) -> [FileSystemKey: Silence] {
        var result: [FileSystemKey: Silence] = [:]
        for place in Set(running.values.map(\.place)) { result[place] = silence(of: place, now: now) }
        return result
    }
}
