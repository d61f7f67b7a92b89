package import NightshiftAPI

/// A record of slow transfers that gave up their slots recently. The record decides how long each of these transfers
/// keeps its slot the next time. This is a pure value.
///
/// A task keeps its slot twice as long each time, so that slow tasks finish even if many others wait.
package struct YieldHistory: Hashable, Sendable {
    private struct Entry: Hashable {
        var count: Int
        /// The time in boot seconds until which other tasks of equal priority go first.
        var lastUntil: Double
    }

    private var entries: [TaskID: Entry] = [:]

    package init() {}

    /// Returns the number of seconds for which a slow transfer keeps its slot.
    ///
    /// - Parameter losesBytes: whether the transfer has to restart after it stops.
    package func slice(of task: TaskID, losesBytes: Bool) -> Double {
        // A transfer that loses its bytes needs enough time to finish. Other transfers resume, and need at most an idle
        // timeout.
        Self.shortest * pow2(min(entries[task]?.count ?? 0, losesBytes ? 4 : 3))
    }

    /// Returns whether other tasks of equal priority go first because this task gave up its slot recently.
    package func isLast(_ task: TaskID, at now: Double) -> Bool {
        entries[task].map { now < $0.lastUntil } ?? false
    }

    /// Records that the task gives up its slot.
    ///
    /// - Returns: the number of seconds until the task continues.
    package mutating func yielded(_ task: TaskID, at now: Double) -> Double {
        let count = entries[task]?.count ?? 0
        if entries[task] == nil, entries.count >= Self.most { entries = [:] }
        entries[task] = Entry(count: min(count + 1, 30), lastUntil: now + Self.longestLast)
        return min(Self.shortest * pow2(count), Self.longestPause)
    }

    /// Removes a task that became fast enough or has ended.
    package mutating func forget(_ task: TaskID) {
        if !entries.isEmpty { entries[task] = nil }
    }

    private func pow2(_ exponent: Int) -> Double { Double(1 << max(0, min(exponent, 30))) }

    /// The shortest slice in seconds. Opening the connection again takes only a small part of this time.
    package static let shortest: Double = Admission.slice
    /// The longest pause in seconds.
    package static let longestPause: Double = 60
    /// The number of seconds after which a task returns to its original position in the queue, so that it does not wait
    /// forever.
    package static let longestLast: Double = 600
    /// The maximum number of remembered tasks. A forgotten task gets a shorter slice.
    package static let most = 4_096
}
