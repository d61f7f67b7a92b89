package import NightshiftAPI

/// A record of the slow transfers that gave up their places lately, which decides how long each keeps its place the next time.
///
/// Pure. Each time a task keeps its place for twice as long as before, so that what answers late, or brings little, comes to its end
/// however many others wait.
package struct YieldHistory: Hashable, Sendable {
    private struct Entry: Hashable {
        var count: Int
        /// Boot seconds until which others of equal priority go first.
        var lastUntil: Double
    }

    private var entries: [TaskID: Entry] = [:]

    package init() {}

    /// Seconds for which a slow transfer keeps its place.
    ///
    /// - Parameter losesBytes: whether it has to begin again when it stops.
    package func slice(of task: TaskID, losesBytes: Bool) -> Double {
        // One that loses what it has is to come to its end; the others continue, and need no more than an idle timeout.
        Self.shortest * pow2(min(entries[task]?.count ?? 0, losesBytes ? 4 : 3))
    }

    /// Whether others of equal priority go before a task because it has given up its place lately.
    package func isLast(_ task: TaskID, at now: Double) -> Bool {
        entries[task].map { now < $0.lastUntil } ?? false
    }

    /// The task gives up its place.
    ///
    /// - Returns: seconds until it continues.
    package mutating func yielded(_ task: TaskID, at now: Double) -> Double {
        let count = entries[task]?.count ?? 0
        if entries[task] == nil, entries.count >= Self.most { entries = [:] }
        entries[task] = Entry(count: min(count + 1, 30), lastUntil: now + Self.longestLast)
        return min(Self.shortest * pow2(count), Self.longestPause)
    }

    /// The task has earned its place since, or has ended.
    package mutating func forget(_ task: TaskID) {
        if !entries.isEmpty { entries[task] = nil }
    }

    private func pow2(_ exponent: Int) -> Double { Double(1 << max(0, min(exponent, 30))) }

    /// Seconds: making room costs a reconnect, which is to be a small part of it.
    package static let shortest: Double = Admission.slice
    /// Seconds.
    package static let longestPause: Double = 60
    /// Seconds after which a task has its old place in the queue again: it is not to wait for ever either.
    package static let longestLast: Double = 600
    /// Tasks that are remembered; a forgotten one gets a shorter slice.
    package static let most = 4_096
}
