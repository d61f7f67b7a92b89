import Foundation

/// The time that a test has waited for an expected event, and whether that is too long.
///
/// A bound applies to a machine with a spare processor, so that a test still distinguishes an immediate event from one
/// that a timer of half a minute causes. Time in which every processor is busy does not count, since other work had the
/// machine. Twelve times the bound is too long everywhere.
package struct WaitingTime: Sendable {
    /// The longest wait with the usual bounds.
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

    /// The total idle time of this machine's processors since its start; proc_stat(5).
    private static func idleTime() -> Duration? {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        let words = text.prefix { $0 != "\n" }.split(separator: " ")
        guard words.count > 4, words[0] == "cpu", let ticks = Int(words[4]) else { return nil }
        return .seconds(ticks) / sysconf(Int32(_SC_CLK_TCK))
    }
}

/// The awaited event did not come in time.
package struct WaitedTooLong: Error, CustomStringConvertible {
    package let what: String
    package let bound: Duration

    package var description: String { "waited \(bound) without success for \(what)" }
}

/// Rechecks every 10 ms until `condition` is true; throws ``WaitedTooLong`` when the ``WaitingTime`` is over. For
/// changes by other processes that no event announces.
package func eventually(
    _ what: String, within bound: Duration = .seconds(20), _ condition: () async throws -> Bool
) async throws {
    let time = WaitingTime(within: bound)
    while true {
        // Read before the check: the last check therefore starts after the bound, however late this thread gets the
        // processor.
        let isLastLook = time.isOver
        if try await condition() { return }
        guard !isLastLook else { throw WaitedTooLong(what: what, bound: bound) }
        try await passTime(.milliseconds(10), because: "The condition is looked at again after a while.")
    }
}

/// ``eventually(_:within:_:)`` for code that cannot suspend, or has to stay on its thread.
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
