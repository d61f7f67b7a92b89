/// Finds the number of connections by measuring. It uses as many connections as raise the total rate, and no more.
///
/// This is a pure value; times are boot seconds. These are the phases and their legal exits:
///
/// - `settling`: connections are being opened or closed. Leads to `measuring` when the wanted number of connections
///   receive bytes, or after a time limit.
/// - `measuring`: leads to `settling` with another number to try, or to `resting`.
/// - `resting`: leads to `settling`, to try one more connection.
struct ConnectionCountController: Hashable, Sendable {
    /// The wanted number of connections.
    private(set) var target: Int
    /// The number of connections that the last measurements have found to be useful; nil if none was tried.
    private(set) var useful: Int?
    /// The number of connections at the beginning.
    private let start: Int
    /// The number of the first connection that was begun for the current trial. Connections with lower numbers are the
    /// standard of comparison.
    private(set) var newcomersFrom = 0
    private var phase = Phase.settling(since: nil)
    private var trial = Trial.standard
    /// The measured rate for each number of connections since the last rest, in ascending order of the numbers.
    private var levels: [Level] = []
    private var restLength = ConnectionCountController.shortestRest
    private var doubles = true
    private var toleratedTrials = 0

    private enum Phase: Hashable {
        case settling(since: Double?)
        case measuring(RateMeasurement)
        case resting(until: Double)
    }

    /// The question that the current measurement answers.
    private enum Trial: Hashable {
        /// The measurement of the rate with the current number of connections.
        case standard
        /// The check whether the current number of connections is faster than `lower`.
        case more(than: Level)
        /// The check whether the current, smaller number of connections is about as fast as a larger one.
        case enough
    }

    private struct Level: Hashable {
        var count: Int
        var rate: Double
    }

    /// - Parameter count: the number of connections to begin with.
    init(startingWith count: Int) {
        start = count
        target = count
    }

    /// The measured inputs of the decision.
    struct Reading {
        var now: Double
        /// The number of bytes of the file that have arrived so far.
        var bytes: Int64
        /// The connections that receive bytes.
        var flows: [RateMeasurement.Flow]
        /// The maximum number of connections that may be used.
        var most: Int
        /// The number of missing bytes.
        var missing: Int64
        /// The time in seconds from request to response; nil without a response.
        var latency: Double?
        /// Whether the newest connections themselves are slow. In this case the total did not rise, although the other
        /// connections kept their rates.
        var newcomersLag: (Double) -> Bool
        /// The number that the next connection will get.
        var nextConnection: Int
    }

    /// Whether the controller is searching for the number now.
    var isSearching: Bool {
        if case .resting = phase { false } else { true }
    }

    /// The end of the rest; nil while the controller does not rest.
    var nextTrial: Double? {
        if case .resting(let until) = phase { until } else { nil }
    }

    /// Decides the wanted number of connections from a reading.
    mutating func update(_ reading: Reading) {
        if target > reading.most {
            target = reading.most
            startResting(reading.now)
        }
        switch phase {
        case .settling(let start):
            let since = start ?? reading.now
            phase = .settling(since: since)
            let isSettled = reading.flows.count == target
            guard isSettled || reading.now >= since + Self.longestSettling else { return }
            if !isSettled, case .more(let lower) = trial, reading.flows.count <= lower.count {
                target = max(1, lower.count)
                return startResting(reading.now)
            }
            if reading.flows.count < target { target = max(1, reading.flows.count) }
            phase = .measuring(RateMeasurement(reading.flows, bytes: reading.bytes, now: reading.now))
        case .measuring(var measurement):
            measurement.read(reading.flows, now: reading.now)
            phase = .measuring(measurement)
            let elapsed = reading.now - measurement.since
            let isDue = elapsed >= Self.longestMeasurement
            guard elapsed >= Self.window(reading.latency),
                let rate = measurement.rate(reading.flows, bytes: reading.bytes, now: reading.now, isDue: isDue)
            else { return }
            conclude(Level(count: target, rate: rate), reading)
        case .resting(let until):
            guard reading.now >= until, target < reading.most else { return }
            trial = .standard
            doubles = false
            phase = .settling(since: reading.now)
        }
    }

    private mutating func conclude(_ level: Level, _ reading: Reading) {
        levels.removeAll { $0.count == level.count }
        levels.append(level)
        levels.sort { $0.count < $1.count }
        guard case .more(let lower) = trial else {
            return trial == .standard ? tryMore(than: level, reading) : trySmaller(reading.now)
        }
        let added = Double(level.count - lower.count) / Double(lower.count)
        // One connection was not measured, so chance must not lead to more than two.
        let isUnproven = doubles && start > 1 && lower.count == start
        let gain = max(Self.leastGain, added * (isUnproven ? Self.unprovenGainShare : Self.gainShare))
        if level.rate >= lower.rate * (1 + gain) {
            useful = level.count
            toleratedTrials = 0
            restLength = Self.shortestRest
            return tryMore(than: level, reading)
        }
        if toleratedTrials < Self.mostToleratedTrials, reading.newcomersLag(lower.rate) {
            toleratedTrials += 1
            return tryMore(than: level, reading)
        }
        if isUnproven { levels.removeAll { $0.count == level.count } }
        trySmaller(reading.now)
    }

    private mutating func tryMore(than level: Level, _ reading: Reading) {
        let secondsLeft = level.rate > 0 ? Double(reading.missing) / level.rate : .infinity
        guard secondsLeft >= Self.leastLeft + 4 * (reading.latency ?? 0) else { return startResting(reading.now) }
        guard target < reading.most else { return startResting(reading.now) }
        target = min(reading.most, doubles ? target * 2 : target + 1)
        newcomersFrom = reading.nextConnection
        trial = .more(than: level)
        phase = .settling(since: reading.now)
    }

    /// Tries smaller numbers, to find the smallest one that is about as fast as the best.
    private mutating func trySmaller(_ now: Double) {
        let best = levels.map(\.rate).max() ?? 0
        guard let enough = levels.firstIndex(where: { $0.rate >= best * Self.enoughShare }) else {
            return startResting(now)
        }
        target = levels[enough].count
        useful = target
        // The search begins with more than one connection if the file is large. In this case, one is tried last.
        let smaller = enough > 0 ? levels[enough - 1].count : 0
        guard target - smaller > 1 else { return startResting(now) }
        target = (smaller + target) / 2
        trial = .enough
        phase = .settling(since: now)
    }

    private mutating func startResting(_ now: Double) {
        phase = .resting(until: now + restLength)
        restLength = min(restLength * 2, Self.longestRest)
        toleratedTrials = 0
        levels = []
    }

    /// Returns the shortest measurement in seconds. On a fast path, two tenths contain some dozens of bursts. On a slow
    /// path, a new connection reaches its speed within four latencies of about three round trips each.
    private static func window(_ latency: Double?) -> Double {
        min(2, max(0.2, 4 * (latency ?? 0)))
    }

    /// The number of seconds after which a measurement ends even if connections are pausing. Bursts may be a second
    /// apart.
    private static let longestMeasurement: Double = 2.5
    /// The number of seconds that new connections may take to begin. After that, the measurement starts without the new
    /// connections.
    private static let longestSettling: Double = 2
    /// The smallest relative rise that counts; a smaller one may be chance.
    private static let leastGain = 0.08
    /// The required share of the ideal gain. The ideal gain is that of new connections which are as fast as the earlier
    /// ones.
    private static let gainShare = 0.25
    /// The required share of the ideal gain if one connection was not measured.
    private static let unprovenGainShare = 0.5
    /// The minimum share of a larger number's rate that makes a smaller number of connections preferable. Measurements
    /// vary by about the remaining 8 %.
    private static let enoughShare = 0.92
    /// The shortest remaining time in seconds for which another connection is worthwhile.
    private static let leastLeft: Double = 1
    /// The number of consecutive trials without a rise that are tolerated, because a single new connection may be slow.
    private static let mostToleratedTrials = 2
    private static let shortestRest: Double = 5
    private static let longestRest: Double = 60
}
