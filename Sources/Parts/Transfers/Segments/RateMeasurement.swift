/// The total rate of all connections during a measurement. Times are boot seconds.
///
/// Servers with a rate limit send a burst and then pause (nginx's `limit_rate`: for a second), so a short measurement
/// is not reliable. A pausing connection is therefore measured from the start of one burst to the start of another.
struct RateMeasurement: Hashable, Sendable {
    /// The state of a connection with a response at one reading.
    struct Flow {
        var id: ConnectionID
        var received: Int64
        /// Whether the connection received bytes since the previous reading, not counting bytes that arrived with the
        /// response.
        var isFlowing: Bool
    }

    let since: Double
    /// The number of bytes of the file that had arrived when the measurement began.
    private let before: Int64
    private var pulses: [ConnectionID: Pulse]

    init(_ flows: [Flow], bytes: Int64, now: Double) {
        since = now
        before = bytes
        pulses = Dictionary(uniqueKeysWithValues: flows.map { ($0.id, Pulse($0, now)) })
    }

    mutating func read(_ flows: [Flow], now: Double) {
        for flow in flows { pulses[flow.id, default: Pulse(flow, now)].read(flow.received, now) }
    }

    /// Returns the rate in bytes per second. Returns nil while a connection pauses and none of its complete bursts was
    /// measured.
    ///
    /// - Parameters:
    ///   - flows: the values of the last call to ``read(_:now:)``.
    ///   - bytes: the number of bytes of the file that have arrived by now.
    ///   - isDue: whether the measurement must end with the known values.
    func rate(_ flows: [Flow], bytes: Int64, now: Double, isDue: Bool) -> Double? {
        let elapsed = now - since
        guard elapsed > 0 else { return nil }
        // The other bytes came over connections that have ended meanwhile.
        var rest = bytes - before
        var sum: Double = 0
        for flow in flows {
            guard let pulse = pulses[flow.id], let rate = pulse.rate ?? (isDue ? pulse.mean(now) : nil)
            else { return nil }
            rest -= flow.received - pulse.before
            sum += rate
        }
        return sum + Double(max(0, rest)) / elapsed
    }
}

/// The bursts of one connection.
private struct Pulse: Hashable, Sendable {
    private struct Mark: Hashable, Sendable {
        var time: Double
        var bytes: Int64
    }

    private let start: Mark
    /// The first observed burst.
    private var first: Mark?
    /// The start of the latest burst; without pauses, the latest reading.
    private var latest: Mark?
    private var last: Mark
    private var isPausing = false
    private var hasPaused = false

    init(_ flow: RateMeasurement.Flow, _ now: Double) {
        start = Mark(time: now, bytes: flow.received)
        last = start
        if flow.isFlowing { first = start }
    }

    /// The number of bytes that this connection had received when the measurement began.
    var before: Int64 { start.bytes }

    mutating func read(_ received: Int64, _ now: Double) {
        // Two readings in quick succession would make every connection look paused.
        guard now - last.time >= Self.shortestPause else { return }
        let mark = Mark(time: now, bytes: received)
        defer { last = mark }
        guard received > last.bytes else {
            isPausing = first != nil
            return
        }
        hasPaused = hasPaused || isPausing
        if isPausing || !hasPaused { latest = mark }
        first = first ?? mark
        isPausing = false
    }

    /// The rate in bytes per second. Nil while the connection pauses without a complete burst, or if it was observed
    /// for too short a time.
    var rate: Double? {
        guard let latest else { return nil }
        guard hasPaused else {
            return isPausing || latest.time - start.time < Self.leastSpan ? nil : Self.rate(from: start, to: latest)
        }
        return first.flatMap { latest.time - $0.time < Self.leastCycle ? nil : Self.rate(from: $0, to: latest) }
    }

    /// Returns the mean rate in bytes per second since the measurement began, including pauses.
    func mean(_ now: Double) -> Double {
        now > start.time ? Double(last.bytes - start.bytes) / (now - start.time) : 0
    }

    private static func rate(from start: Mark, to end: Mark) -> Double {
        Double(end.bytes - start.bytes) / (end.time - start.time)
    }

    /// The shortest time without bytes, in seconds, that counts as a pause.
    private static let shortestPause: Double = 0.05
    /// The number of seconds without a pause after which bytes count as a steady flow: a little less than twice the
    /// interval between readings.
    private static let leastSpan: Double = 0.19
    /// The shortest distance in seconds between two bursts of a measurement. Each burst may be observed a tenth of a
    /// second late.
    private static let leastCycle: Double = 0.29
}
