import Foundation
import TestSupport
import Testing

/// How fast exchanges with a limit are, window after window of time.
///
/// In no window are they faster. That they are as fast as they may be is asked of one window only: in others a busy
/// machine may have had no time for them. The exact arithmetic is tested with the bucket itself.
struct RateWindows {
    /// What all exchanges may have together, in bytes per second.
    let limit: Double
    /// How far each exchange is.
    let positions: @Sendable () -> [Int64]

    /// Ends with the first window in which all is as it should be; throws ``WaitedTooLong`` where none is.
    func expectTheLimit() async throws {
        // Past what the connections' beginning lets through.
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

    /// Bytes per second of each. A delay between clock and count makes them less, never more.
    private func window() async throws -> [Double] {
        let start = ContinuousClock.now
        let before = positions()
        try await passTime(.seconds(2), because: "A rate is bytes over time.")
        let after = positions()
        let time = start.duration(to: .now) / .seconds(1)
        return zip(after, before).map { Double($0 - $1) / time }
    }
}
