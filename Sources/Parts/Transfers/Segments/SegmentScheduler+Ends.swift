/// Handling of the ends of connections, and of their effect on later connections.
extension SegmentScheduler {
    mutating func conclude(_ connection: SegmentConnection, _ end: SegmentEnd, _ now: Double) {
        let source = connection.source
        if let rate = connection.rate.bytesPerSecond {
            // The last connection to end is often the slowest, and says little about the next one.
            sources[source].rate = max(rate, (sources[source].rate ?? 0) * Self.rateMemory)
        }
        switch end {
        case .complete:
            if connection.received > 0 { sources[source].failures = 0 } else { failed(source, now) }
        case .stopped:
            if connection.stopping == .stalled { sources[source].stalls += 1 }
        case .failed:
            // If a connection received bytes, another one follows, as in an ordinary download that continues.
            if connection.received >= Self.leastProgress { sources[source].failures = 0 } else { failed(source, now) }
        case .busy(let until):
            refused(source, until: until, now)
        case .again:
            sources[source].repetitions += 1
            guard sources[source].repetitions > Self.mostRepetitions else { return }
            distrust(source, "the server rejected every form of range request for this file")
        case .distrusted(let reason):
            distrust(source, reason)
        case .refused(let reason):
            refuse(source, reason)
        }
    }

    private mutating func failed(_ source: Int, _ now: Double) {
        sources[source].failures += 1
        let failures = sources[source].failures
        // The first failure may be chance.
        guard failures > 1 else { return }
        let pause = min(Self.longestPause, Self.shortestPause * Double(1 << min(failures - 2, 10)))
        sources[source].pausedUntil = max(sources[source].pausedUntil, now + pause)
        let others = connections.count { $0.source == source && $0.flows }
        if failures >= Self.failuresOfTooMany, others > 0 {
            sources[source].cap = others
        }
    }

    /// Handles a refusal because of too many connections. The limit becomes the number of connections with responses.
    /// If the limit is already that low, it becomes 1.
    private mutating func refused(_ source: Int, until: Double?, _ now: Double) {
        sources[source].pausedUntil = max(sources[source].pausedUntil, until ?? now + Self.refusalPause)
        let others = connections.count { $0.source == source && $0.flows }
        guard others > 0 else { return }
        let cap = others < sources[source].cap ? others : 1
        sources[source].cap = cap
        notices.append(.limitHost(source: source, connections: cap, until: max(until ?? 0, now + Self.refusalLength)))
    }

    /// Handles a source whose parts are not reliable. A mirror is dropped. The task's own URL keeps one connection. If
    /// it has no connection, a single exchange fetches the rest and judges the file again.
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

    /// Handles a refusal. A mirror is dropped. A refusal by the task's own URL decides about the task only when no
    /// other source is left.
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

    /// The share of a connection's earlier rate that is still expected after a slower connection.
    private static let rateMemory = 0.7
    /// The minimum number of bytes that make a connection worthwhile: the most bytes that a handshake costs.
    private static let leastProgress: Int64 = 64 << 10
    /// The number of seconds before the next request to a source whose last two connections received nothing. The pause
    /// doubles each time.
    private static let shortestPause: Double = 0.5
    private static let longestPause: Double = 30
    /// The number of consecutive connections without bytes, while others receive bytes, after which the scheduler
    /// assumes that the server accepts no more.
    private static let failuresOfTooMany = 3
    /// The number of seconds without another request after a refusal that names no time.
    private static let refusalPause: Double = 5
    /// The number of seconds for which a refusal applies to the origin. Servers limit per second or per minute, and a
    /// longer download can afford another attempt.
    private static let refusalLength: Double = 600
    /// The number of forms of a range request: with a tag, with a date, and without a condition.
    private static let mostRepetitions = 3
}
