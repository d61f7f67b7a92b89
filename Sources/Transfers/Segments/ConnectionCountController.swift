/// Finds the number of connections by measuring: as many as raise the total, and no more.
///
/// Pure; times are boot seconds. The phases and their legal exits:
///
/// - `settling`: connections are being opened or closed; to `measuring` when as many flow as are wanted, or in time.
/// - `measuring`: to `settling` with another number to be tried, or to `resting`.
/// - `resting`: to `settling`, to try one more.
struct ConnectionCountController: Hashable, Sendable {
    /// How many connections are wanted.
    private(set) var target = 1
    /// The first connection that was begun for the present trial; those before it are its standard.
    private(set) var newcomersFrom = 0
    private var phase = Phase.settling(since: nil)
    private var trial = Trial.standard
    /// The rates of the numbers of connections that were measured since the last rest, by ascending number.
    private var levels: [Level] = []
    private var restLength = ConnectionCountController.shortestRest
    private var doubles = true
    private var toleratedTrials = 0

    private enum Phase: Hashable {
        case settling(since: Double?)
        case measuring(RateMeasurement)
        case resting(until: Double)
    }

    /// The question that the present measurement answers.
    private enum Trial: Hashable {
        /// The rate of the present number.
        case standard
        /// Whether it brings more than `lower`.
        case more(than: Level)
        /// Whether it brings as much as more do.
        case enough
    }

    private struct Level: Hashable {
        var count: Int
        var rate: Double
    }

    /// The measured values that it decides from.
    struct Reading {
        var now: Double
        /// Bytes of the file that have come so far.
        var bytes: Int64
        /// Connections that bring bytes.
        var flows: [RateMeasurement.Flow]
        /// Most connections that may be used.
        var most: Int
        /// Bytes that are still missing.
        var missing: Int64
        /// Seconds from asking to answer; nil if nobody has answered.
        var latency: Double?
        /// Whether the newest connections are slow by themselves: the total did not rise, but the others kept their rates.
        var newcomersLag: (Double) -> Bool
        /// The number that the next connection will get.
        var nextConnection: Int
    }

    /// Whether the number is being looked for at present.
    var isSearching: Bool {
        if case .resting = phase { false } else { true }
    }

    /// When resting ends.
    var nextTrial: Double? {
        if case .resting(let until) = phase { until } else { nil }
    }

    /// Takes a reading, of bytes that were counted now.
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
        if level.rate >= lower.rate * (1 + max(Self.leastGain, added * Self.gainShare)) {
            toleratedTrials = 0
            restLength = Self.shortestRest
            return tryMore(than: level, reading)
        }
        if toleratedTrials < Self.mostToleratedTrials, reading.newcomersLag(lower.rate) {
            toleratedTrials += 1
            return tryMore(than: level, reading)
        }
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

    /// Looks for the fewest connections that bring about as much as the best number did.
    private mutating func trySmaller(_ now: Double) {
        let best = levels.map(\.rate).max() ?? 0
        guard let enough = levels.firstIndex(where: { $0.rate >= best * Self.enoughShare }) else {
            return startResting(now)
        }
        target = levels[enough].count
        guard enough > 0, target - levels[enough - 1].count > 1 else { return startResting(now) }
        target = (levels[enough - 1].count + target) / 2
        trial = .enough
        phase = .settling(since: now)
    }

    private mutating func startResting(_ now: Double) {
        phase = .resting(until: now + restLength)
        restLength = min(restLength * 2, Self.longestRest)
        toleratedTrials = 0
        levels = []
    }

    /// The least seconds of a measurement: two tenths are some dozens of bursts on a quick path; on a slow one four latencies (of about
    /// three round trips each) let a new connection grow to its speed.
    private static func window(_ latency: Double?) -> Double {
        min(2, max(0.2, 4 * (latency ?? 0)))
    }

    /// Seconds after which a measurement ends, whatever still pauses: bursts may be a second apart.
    private static let longestMeasurement: Double = 2.5
    /// Seconds that connections may take to begin before it is measured without them.
    private static let longestSettling: Double = 2
    /// Below this share a rise may be chance.
    private static let leastGain = 0.08
    /// Of what more connections would bring if each brought as much as the ones before, this share has to come.
    private static let gainShare = 0.25
    /// Fewer connections that reach this share of the rate of more are better; measurements differ by as much.
    private static let enoughShare = 0.92
    /// Seconds that have to be left for another connection to be worth it.
    private static let leastLeft: Double = 1
    /// Trials in a row that are tolerated although the total did not rise, because a new connection is slow by itself.
    private static let mostToleratedTrials = 2
    private static let shortestRest: Double = 5
    private static let longestRest: Double = 60
}
