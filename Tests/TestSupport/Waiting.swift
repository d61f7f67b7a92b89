import Foundation

/// The time that a test has waited for an expected event, with the decision on whether that is too long.
///
/// A limit applies to a machine with a spare processor, so that a test can distinguish an immediate event from one that
/// a timer of half a minute causes. Time in which every processor is busy does not count, because other work used the
/// machine. Twelve times the limit is too long on every machine.
package struct WaitingTime: Sendable {
    /// The longest wait with the usual limits.
    package static let longest = Duration.seconds(240)

    private let bound: Duration
    private let start = ContinuousClock.now
    private let idleBefore = Self.idleTime()

    package init(within bound: Duration) {
        self.bound = bound
    }

    package var isOver: Bool {
        let waited = ContinuousClock.now - start
        guard waited >= bound else { return false }
        guard waited < bound * 12 else { return true }
        guard let idleBefore, let idle = Self.idleTime() else { return false }
        return idle - idleBefore >= bound
    }

    /// Returns the total idle time of this machine's processors since its start (proc_stat(5)).
    private static func idleTime() -> Duration? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        let words = text.prefix { $0 != "\n" }.split(separator: " ")
        guard words.count > 4, words[0] == "cpu", let ticks = Int(words[4]) else { return nil }
        return .seconds(ticks) / sysconf(Int32(_SC_CLK_TCK))
    }
}

/// The error when an expected event did not come in time.
package struct WaitedTooLong: Error, CustomStringConvertible {
    package let what: String
    package let bound: Duration

    package var description: String { "waited \(bound) without success for \(what)" }
}

/// Checks every 10 ms whether `condition` is true, and returns when it is. Throws ``WaitedTooLong`` when the
/// ``WaitingTime`` is over. This function is for changes by other processes that no event announces.
package func eventually(
    _ what: String, within bound: Duration = .seconds(20), _ condition: () async throws -> Bool
) async throws {
    let time = WaitingTime(within: bound)
    while true {
        // The time is read before the check. So the last check starts after the limit, however late this thread gets
        // the processor.
        let isLastLook = time.isOver
        if try await condition() { return }
        guard !isLastLook else { throw WaitedTooLong(what: what, bound: bound) }
        try await passTime(.milliseconds(10), because: "The condition is looked at again after a while.")
    }
}

/// Waits as ``eventually(_:within:_:)`` does, for code that cannot suspend or must stay on its thread.
package func blockUntil(
    _ what: String, within bound: Duration = .seconds(20), _ condition: () throws -> Bool
) throws {
    let time = WaitingTime(within: bound)
    while true {
        let isLastLook = time.isOver
        if try condition() { return }
        guard !isLastLook else { throw WaitedTooLong(what: what, bound: bound) }
        blockThread(for: .milliseconds(5), because: "The condition is looked at again after a while.")
    }
}
