/// The ends of connections, and their effect on those that follow.
extension SegmentScheduler {
    mutating func conclude(_ connection: SegmentConnection, _ end: SegmentEnd, _ now: Double) {
        let source = connection.source
        if let rate = connection.rate.bytesPerSecond {
            // The last to end is often the slowest, which says little of the next.
            sources[source].rate = max(rate, (sources[source].rate ?? 0) * Self.rateMemory)
        }
        switch end {
        case .complete:
            if connection.received > 0 { sources[source].failures = 0 } else { failed(source, now) }
        case .stopped:
            if connection.stopping == .stalled { sources[source].stalls += 1 }
        case .failed:
            // One that has brought something is simply followed by another, as a plain download is continued.
            if connection.received >= Self.leastProgress { sources[source].failures = 0 } else { failed(source, now) }
        case .busy(let until):
            refused(source, until: until, now)
        case .again:
            sources[source].repetitions += 1
            guard sources[source].repetitions > Self.mostRepetitions else { return }
            distrust(source, "the server does not send parts of this file in any way of asking")
        case .distrusted(let reason):
            distrust(source, reason)
        case .refused(let reason):
            refuse(source, reason)
        }
    }

    private mutating func failed(_ source: Int, _ now: Double) {
        sources[source].failures += 1
        let failures = sources[source].failures
        // The first may be chance.
        guard failures > 1 else { return }
        let pause = min(Self.longestPause, Self.shortestPause * Double(1 << min(failures - 2, 10)))
        sources[source].pausedUntil = max(sources[source].pausedUntil, now + pause)
        let others = connections.count { $0.source == source && $0.flows }
        if failures >= Self.failuresOfTooMany, others > 0 {
            sources[source].cap = others
        }
    }

    /// Too many connections: as many as are served stay, and one if that was too many already.
    private mutating func refused(_ source: Int, until: Double?, _ now: Double) {
        sources[source].pausedUntil = max(sources[source].pausedUntil, until ?? now + Self.refusalPause)
        let others = connections.count { $0.source == source && $0.flows }
        guard others > 0 else { return }
        let cap = others < sources[source].cap ? others : 1
        sources[source].cap = cap
        notices.append(.limitHost(source: source, connections: cap, until: max(until ?? 0, now + Self.refusalLength)))
    }

    /// The parts that a source sends cannot be relied on: a mirror is done without; of the task's own URL one connection
    /// stays, and if there is none the rest is for a plain exchange, which judges the file anew.
    mutating func distrust(_ source: Int, _ reason: String) {
        guard source == 0 else {
            guard !sources[source].isDropped else { return }
            sources[source].isDropped = true
            notices.append(.dropSource(source, reason: reason))
            for index in connections.indices where connections[index].source == source {
                guard connections[index].stopping == nil else { continue }
                connections[index].stopping = .distrusted
                notices.append(.stop(connections[index].id, .distrusted))
            }
            return
        }
        if !connections.contains(where: \.flows) {
            fallBackReason = fallBackReason ?? reason
        } else {
            keepOne(reason)
        }
    }

    /// A mirror that refuses is done without; the task's own URL decides about the task only when nobody else is left who may
    /// bring a part.
    private mutating func refuse(_ source: Int, _ reason: String) {
        guard source == 0 else { return distrust(source, reason) }
        if connections.contains(where: { $0.stopping == nil }) {
            keepOne(reason)
        } else {
            isRefused = true
        }
    }

    private mutating func keepOne(_ reason: String) {
        guard singleReason == nil else { return }
        singleReason = reason
        notices.append(.single(reason: reason))
    }

    /// Share of the rate of one connection that is still expected after a slower one.
    private static let rateMemory = 0.7
    /// Bytes that make a connection worth having had: what a handshake costs at most.
    private static let leastProgress: Int64 = 64 << 10
    /// Seconds before a source that brought nothing twice is asked again, doubled each time.
    private static let shortestPause: Double = 0.5
    private static let longestPause: Double = 30
    /// Fruitless connections in a row, beside others that flow, after which the server is taken not to want more.
    private static let failuresOfTooMany = 3
    /// Seconds without another request after a refusal that names no time.
    private static let refusalPause: Double = 5
    /// Seconds for which a refusal holds for the origin: limits of servers are per second to per minute, and a download longer
    /// than this can afford to try again.
    private static let refusalLength: Double = 600
    /// Ways of asking for a range: with a tag, with a date, without a condition.
    private static let mostRepetitions = 3
}
