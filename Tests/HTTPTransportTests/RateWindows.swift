import Foundation
import TestSupport
import Testing

/// Measures the speed of rate-limited exchanges in consecutive windows of time. No window may exceed the limit. Only
/// one window must reach it, because a busy machine may leave no time for the exchanges in the others. The bucket's own
/// tests check the exact arithmetic.
struct RateWindows {
    /// The limit of all exchanges together, in bytes per second.
    let limit: Double
    /// The position of each exchange.
    let positions: @Sendable () -> [Int64]

    /// Returns after the first window that satisfies all conditions. Throws ``WaitedTooLong`` if there is no such
    /// window.
    func expectTheLimit() async throws {
        // The measurement excludes the start of the connections, which may be faster.
        let first = positions()
        try await eventually("some bytes of each") {
            zip(positions(), first).allSatisfy { Double($0 - $1) > 0.3 * limit / Double(first.count) }
        }
        var measured: [Double] = []
        do {
            try await eventually("a window with the whole rate") {
                measured = try await window()
                let sum = measured.reduce(0, +)
                #expect(sum < 1.2 * limit, "\(measured)")
                let share = sum / Double(measured.count)
                return sum > 0.8 * limit && measured.allSatisfy { abs($0 / share - 1) < 0.25 }
            }
        } catch let error as WaitedTooLong {
            Issue.record("\(error); the last one had \(measured) of \(limit)")
        }
    }

    /// Returns the bytes per second of each exchange. A delay between clock and count makes the values smaller, never
    /// larger.
    private func window() async throws -> [Double] {
        let start = ContinuousClock.now
        let before = positions()
        try await passTime(.seconds(2), because: "A rate is bytes over time.")
        let after = positions()
        let time = start.duration(to: .now) / .seconds(1)
        return zip(after, before).map { Double($0 - $1) / time }
    }
}
