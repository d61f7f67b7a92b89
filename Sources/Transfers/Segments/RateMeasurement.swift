/// What all connections together bring, measured over a moment. Times are boot seconds.
///
/// Servers that keep a limit send a burst and wait (nginx's `limit_rate`: for a second), so that the bytes of a short while
/// say nothing. A connection that pauses is therefore measured from the beginning of one of its bursts to that of another.
struct RateMeasurement: Hashable, Sendable {
    /// A connection that brings bytes, at a reading.
    struct Flow {
        var id: ConnectionID
        var received: Int64
        /// Whether it has brought some since the reading before, and not only since it was answered.
        var isFlowing: Bool
    }

    let since: Double
    /// Bytes of the file that had come.
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

    /// Bytes per second; nil while a connection pauses of which no whole burst was seen.
    ///
    /// - Parameters:
    ///   - flows: as told to ``read(_:now:)`` last.
    ///   - bytes: of the file, that have come by now.
    ///   - isDue: whether what is known has to do.
    func rate(_ flows: [Flow], bytes: Int64, now: Double, isDue: Bool) -> Double? {
        let elapsed = now - since
        guard elapsed > 0 else { return nil }
        // Those that have ended meanwhile have brought the rest.
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
    /// Where the first burst was seen.
    private var first: Mark?
    /// Where the latest burst began; the latest reading, as long as nothing has paused.
    private var latest: Mark?
    private var last: Mark
    private var isPausing = false
    private var hasPaused = false

    init(_ flow: RateMeasurement.Flow, _ now: Double) {
        start = Mark(time: now, bytes: flow.received)
        last = start
        if flow.isFlowing { first = start }
    }

    /// Bytes that it had brought when the measurement began.
    var before: Int64 { start.bytes }

    mutating func read(_ received: Int64, _ now: Double) {
        // Two readings right behind one another see a pause everywhere.
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

    /// Bytes per second; nil while it pauses and no whole burst was seen, and of one that was not seen bringing anything for long enough.
    var rate: Double? {
        guard let latest else { return nil }
        guard hasPaused else {
            return isPausing || latest.time - start.time < Self.leastSpan ? nil : Self.rate(from: start, to: latest)
        }
        return first.flatMap { latest.time - $0.time < Self.leastCycle ? nil : Self.rate(from: $0, to: latest) }
    }

    /// Bytes per second since the measurement began, whatever pauses.
    func mean(_ now: Double) -> Double {
        now > start.time ? Double(last.bytes - start.bytes) / (now - start.time) : 0
    }

    private static func rate(from start: Mark, to end: Mark) -> Double {
        Double(end.bytes - start.bytes) / (end.time - start.time)
    }

    /// Seconds.
    private static let shortestPause: Double = 0.05
    /// Seconds without a pause after which bytes are taken to flow: two times that between readings, less a little.
    private static let leastSpan: Double = 0.19
    /// Seconds from a burst to one that it is measured to: a reading may see either a tenth of a second late.
    private static let leastCycle: Double = 0.29
}
