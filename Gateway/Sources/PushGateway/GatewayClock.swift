import Foundation
package import PushRouting

/// The machine's clocks.
package enum GatewayClock {
    /// The time at which this clock was first read. On Linux the clock continues while the machine sleeps
    /// (CLOCK_BOOTTIME).
    private static let start = ContinuousClock.now

    package static func now() -> RouteTime {
        let passed = start.duration(to: .now).components
        return RouteTime(
            bootSeconds: Double(passed.seconds) + Double(passed.attoseconds) / 1e18,
            wallMilliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}
