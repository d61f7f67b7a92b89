/// The smallest round-trip time of the last minutes: the delay of a route without any queue.
///
/// The times of each minute have their own minimum. After ``minutes`` of them, the oldest is dropped, so that a route that has
/// become longer is recognised.
struct BaseDelay: Sendable {
    private var minima: [Double] = []
    private var began: Double
    /// The time of the last measurement close to the minimum.
    private(set) var confirmed: Double

    private static let minute = 60.0
    private static let minutes = 5
    /// A route is new if it was not measured for this number of seconds. The device may have slept or moved.
    private static let longestPause = 10.0
    private var last: Double

    init(now: Double) {
        began = now
        confirmed = now
        last = now
    }

    /// The smallest round-trip time in seconds; nil before the first measurement.
    var value: Double? { minima.min() }

    mutating func add(_ roundTrip: Double, now: Double) {
        if now - last > Self.longestPause || now < last { self = BaseDelay(now: now) }
        last = now
        if now - began >= Self.minute, !minima.isEmpty {
            began = now
            minima.append(roundTrip)
            if minima.count > Self.minutes { minima.removeFirst() }
        }
        if minima.isEmpty {
            minima = [roundTrip]
        } else {
            minima[minima.count - 1] = min(minima[minima.count - 1], roundTrip)
        }
        if let value, roundTrip <= value * 1.05 + 0.001 { confirmed = now }
    }
}
