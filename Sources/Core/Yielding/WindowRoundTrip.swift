import NightshiftAPI

/// The round trip of connections whose segments carry no timestamps (RFC 7323), estimated from the receive window.
///
/// A sender that waits for the window delivers one window in each round trip. So the round trip is the window divided by
/// the rate. If something else slows the sender, the estimate is too long. The controller then makes the window smaller
/// until the sender waits for it.
package struct WindowRoundTrip: Sendable {
    /// All bytes since the last estimate.
    private var allBytes = 0.0
    /// The bytes, the time and the sum of the window over time, without the first round trip, in which bytes of the
    /// earlier window arrive.
    private var bytes = 0.0
    private var seconds = 0.0
    private var windowSeconds = 0.0
    /// The rest of that round trip in seconds.
    private var pause = 0.0
    /// The last estimate in seconds.
    private var last: Double?

    /// The number of windows of an estimate. The bytes of one round trip arrive together, so fewer would be inexact.
    private static let windows = 4.0
    /// The shortest and the longest time of an estimate in seconds.
    private static let shortest = 0.15
    private static let longest = 2.0

    package init() {}

    /// Takes the bytes that have arrived on all connections since the last call.
    ///
    /// - Parameters:
    ///   - elapsed: the time since the last call in seconds.
    ///   - window: the window of all connections in that time, in bytes.
    /// - Returns: the measurement for the controller; nil if it needs more time.
    package mutating func add(_ count: Int64, elapsed: Double, window: Double, segment: Int) -> YieldSample? {
        allBytes += Double(count)
        guard pause <= 0 else {
            pause -= elapsed
            return nil
        }
        bytes += Double(count)
        seconds += elapsed
        windowSeconds += window * elapsed
        let isEnough = bytes * seconds >= Self.windows * windowSeconds && seconds >= Self.shortest
        guard isEnough || seconds >= Self.longest else { return nil }
        let estimate = bytes > 0 ? windowSeconds / bytes : nil
        // While a queue is emptied, bytes arrive faster than the sender sends them. So a shorter round trip counts when it is
        // estimated twice.
        let roundTrip = estimate.map { max($0, last ?? $0) }
        var sample = YieldSample(roundTrip: roundTrip, bytes: Int64(saturating: allBytes), segment: segment)
        sample.isMean = false
        self = WindowRoundTrip()
        last = estimate
        pause = min(roundTrip ?? 0, Self.longest)
        return sample
    }
}
