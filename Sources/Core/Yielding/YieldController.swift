import NightshiftAPI

/// Decides how many bytes the transfers of one route may have under way, so that they do not delay other traffic.
///
/// This is a delay-based control (RFC 6817), which a receiver can perform as well (RFC 9840). Bytes that wait in the
/// queue of a bottleneck make the round trip longer. While the delay is below a target, the window grows; above it, the
/// window shrinks. A foreground transfer fills the queue, so the window shrinks to its minimum. All connections of a
/// route share one window.
///
/// Two signals go beyond these documents. If the transfers get less than they had alone, others use the line, and the
/// target becomes smaller: senders that keep queues short (BBR) would otherwise not be noticed. And once in a while the
/// window is halved for a moment, to measure the route without the transfers' own queue.
package struct YieldController: Sendable {
    private let settings: YieldSettings
    private var base: BaseDelay
    private var phase = Phase.starting
    private var rates = RateHistory()
    /// The time of the last measurement.
    private var last: Double
    /// The window before the pause in which the base delay is measured.
    private var windowBefore = 0.0
    /// The time of the next such pause.
    private var nextPause: Double
    /// Since when the window is at its minimum; nil if it is larger, or was larger without a delay.
    private var leastSince: Double?
    /// The last round-trip time that the kernel reported: a mean.
    private var lastMean: Double?
    /// The mean change of the round-trip time from one measurement to the next, in seconds.
    private var noise = 0.0

    /// The number of bytes that may be under way on all connections together.
    package private(set) var window = Self.firstWindow
    /// The newest round-trip time in seconds; nil before the first measurement.
    package private(set) var roundTrip: Double?
    /// The delay that the queue adds now, in seconds.
    package private(set) var delay = 0.0
    /// The delay that the transfers may add now, in seconds.
    package private(set) var target: Double

    private enum Phase: Hashable {
        /// The window doubles in each round trip until the first delay is seen.
        case starting
        case steady
        /// The window is smaller until this time, to measure the base delay.
        case measuring(until: Double)
    }

    /// The share by which the window grows in a round trip without a delay, and by which it falls if the delay is twice the
    /// target. Larger shares let the queue of a slow line with a long round trip swing.
    private static let increase = 0.4
    private static let decrease = 0.3
    private static let firstWindow = 10 * 1_448.0
    private static let largestWindow = Double(1 << 30)
    /// The interval in seconds at which the base delay is measured, unless other measurements have confirmed it.
    private static let pauseInterval = 20.0
    /// The number of segments in a second that a route always gets, so that its round trip can be measured.
    private static let fewestSegments = 8.0

    /// - Parameter now: the time in seconds on a clock that never goes back, the same clock for all calls.
    package init(_ settings: YieldSettings = YieldSettings(), now: Double) {
        self.settings = settings
        base = BaseDelay(now: now)
        last = now
        nextPause = now + Self.pauseInterval
        target = settings.leastTarget
    }

    /// The rate of the last half second, in bytes per second.
    package var rate: Double { rates.current }
    /// The largest rate of the last time, which the line can carry, in bytes per second.
    package var capacity: Double { rates.largest }
    /// The round-trip time without a queue, in seconds; nil before the first measurement.
    package var baseDelay: Double? { base.value }
    /// Whether other traffic keeps the window small.
    package var isYielding: Bool { delay > target && rate < 0.9 * capacity }

    /// Takes a measurement and decides on the window.
    package mutating func update(_ sample: YieldSample, now: Double) {
        let elapsed = max(now - last, 0)
        last = now
        rates.add(sample.bytes, elapsed: elapsed)
        guard let mean = sample.roundTrip, mean > 0, elapsed > 0 else { return }
        let segment = Double(max(sample.segment, 536))
        let newest = sample.isMean ? newestRoundTrip(mean, segments: Double(sample.bytes) / segment) : mean
        roundTrip = newest
        base.add(mean, now: now)
        let shortest = base.value ?? mean
        delay = max(newest - shortest, 0)
        target = currentTarget(base: shortest, segment: segment)
        switch phase {
        case .measuring(let until):
            guard now >= until else { break }
            phase = .steady
            window = windowBefore
            nextPause = now + Self.pauseInterval
        case .starting, .steady:
            // An estimate from the window is late, so the window grows by one step at most.
            control(newest, sample, elapsed: elapsed, segment: segment, mostRounds: sample.isMean ? 4 : 1)
            if now >= nextPause { measure(newest, base: shortest, now: now) }
        }
        window = min(max(window, leastWindow(newest, segment: segment, now: now)), Self.largestWindow)
    }

    /// Returns the newest round-trip time. The kernel reports a mean in which each time has a weight of an eighth. While
    /// few segments arrive, that mean falls much too slowly.
    private mutating func newestRoundTrip(_ mean: Double, segments: Double) -> Double {
        defer { lastMean = mean }
        guard let before = lastMean else { return mean }
        noise += (min(abs(mean - before), settings.leastTarget) - noise) / 16
        // A receiver acknowledges every second segment, and each acknowledgement measures the round trip once.
        let times = max(segments / 2, 1)
        guard mean < before, times < 8 else { return mean }
        var rest = 1.0
        for _ in 0..<Int(saturating: times) { rest *= 0.875 }
        return max((mean - before * rest) / (1 - rest), base.value ?? mean)
    }

    private func currentTarget(base: Double, segment: Double) -> Double {
        // A few segments always wait at a slow line.
        let sending = rates.largest > 0 ? 4 * segment / rates.largest : 0
        let full = min(max(settings.leastTarget, base / 10, 2 * noise, sending), settings.greatestTarget)
        guard settings.lowersTarget, phase == .steady, rates.largest > 0 else { return full }
        let share = min(rates.current / rates.largest, 1)
        return max(full * share * share, min(full, 0.002 + sending / 2))
    }

    private mutating func control(
        _ roundTrip: Double, _ sample: YieldSample, elapsed: Double, segment: Double, mostRounds: Double
    ) {
        let rounds = elapsed / roundTrip
        if delay > target {
            let excess = min((delay - target) / target, 1)
            window *= 1 - Self.decrease * excess * min(rounds, 1)
            phase = .steady
            return
        }
        // A window that is not used does not grow: the sender or another limit is slower. The windows of several
        // connections have parts without room for a whole segment. On a very short route, a window of a round trip would
        // wake the receiver for a few segments at a time, so it may cause half of the allowed delay.
        let used =
            Double(sample.bytes) / elapsed * max(roundTrip, target / 2) + Double(sample.connections) * segment / 2
        guard used > 0.5 * window else {
            window = max(min(window, 2 * used + 4 * segment), min(window, Self.firstWindow))
            return
        }
        if delay > 0.75 * target { phase = .steady }
        let room = (target - delay) / target
        let growth = phase == .starting ? 1 : Self.increase * room * room
        window += min(growth * min(rounds, mostRounds), 1) * window + segment * room * min(rounds, 1)
    }

    /// Halves the bytes under way until the transfers' own queue is empty.
    private mutating func measure(_ roundTrip: Double, base: Double, now: Double) {
        guard phase == .steady, now - self.base.confirmed >= Self.pauseInterval / 2 else {
            nextPause = now + Self.pauseInterval
            return
        }
        windowBefore = window
        window = 0.5 * rates.current * base
        phase = .measuring(until: now + 2 * roundTrip + 2 * target)
    }

    /// Returns the smallest window now: one segment, and after a long time at this minimum a small share of the line.
    private mutating func leastWindow(_ roundTrip: Double, segment: Double, now: Double) -> Double {
        let least = max(segment, Self.fewestSegments * segment * roundTrip)
        if window <= least {
            leastSince = leastSince ?? now
        } else if delay <= target {
            leastSince = nil
        }
        guard let since = leastSince, now - since >= settings.patience else { return least }
        return max(least, settings.guaranteedShare * rates.largest * roundTrip)
    }
}

/// The rate of a route, measured over half a second, and the largest rate of the last time.
struct RateHistory: Sendable {
    /// In bytes per second.
    private(set) var current = 0.0
    /// In bytes per second.
    private(set) var largest = 0.0
    private var bytes = 0.0
    private var seconds = 0.0

    private static let period = 0.5
    /// The share of the largest rate that is forgotten in each second. A line that has become slower is recognised
    /// within a minute.
    private static let forgotten = 0.015

    mutating func add(_ count: Int64, elapsed: Double) {
        bytes += Double(count)
        seconds += elapsed
        guard seconds >= Self.period else { return }
        current = bytes / seconds
        largest = max(largest * (1 - min(Self.forgotten * seconds, 1)), current)
        bytes = 0
        seconds = 0
    }
}
