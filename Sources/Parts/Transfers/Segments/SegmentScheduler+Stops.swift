import Store

/// The choice of connections to cancel.
extension SegmentScheduler {
    /// Stops connections whose bytes other connections have received.
    mutating func stopRedundant() -> [SegmentAction] {
        stop(.redundant) { connection, missing in
            connection.position < connection.range.upperBound && missing.clamped(to: connection.rest).isEmpty
        }
    }

    /// Stops connections that have been silent for longer than their earlier behaviour explains. If no other request
    /// could be sent, the last connection is left to its own timeouts.
    mutating func stopSilent(_ now: Double) -> [SegmentAction] {
        guard singleReason == nil else { return [] }
        let sources = sources
        let irreplaceable = irreplaceable
        return stop(.stalled) { connection, _ in
            let source = sources[connection.source]
            let timeout =
                connection.answeredAt == nil
                ? min(30, max(3, 4 * (source.latency ?? 0))) : min(15, max(2, 4 * connection.longestSilence))
            let isWaitedFor = connection.position < connection.range.upperBound && connection.id != irreplaceable
            return isWaitedFor && now - connection.heardAt >= timeout * Double(1 << min(source.stalls, 5))
        }
    }

    /// The only connection that has received bytes, while its source has not yet sent any requested part. If this
    /// connection were cancelled and the source did not support ranges after all, the download would start again. Other
    /// connections are therefore requested in addition to it.
    private var irreplaceable: ConnectionID? {
        let flowing = connections.filter(\.flows)
        guard mostConnections > 1, flowing.count == 1, !sources[flowing[0].source].hasSentParts else { return nil }
        return flowing[0].id
    }

    /// Stops connections beyond the wanted or allowed number. The slowest connections are stopped first, and among
    /// equally slow ones the newest.
    mutating func stopSurplus() -> [SegmentAction] {
        var actions: [SegmentAction] = []
        for source in sources.indices {
            let most = min(limits.perSource, sources[source].cap)
            actions += stopSurplus(beyond: most) { $0.source == source }
        }
        return actions + stopSurplus(beyond: wantedConnections) { _ in true }
    }

    private mutating func stopSurplus(
        beyond most: Int, _ counts: (SegmentConnection) -> Bool
    ) -> [SegmentAction] {
        var actions: [SegmentAction] = []
        let first = connections.filter { $0.flows && counts($0) }.min { $0.position < $1.position }?.id
        while true {
            let running = connections.indices.filter { connections[$0].stopping == nil && counts(connections[$0]) }
            guard running.count > most else { return actions }
            let candidates = singleReason == nil ? running : running.filter { connections[$0].id != first }
            let slowest = candidates.min {
                let (left, right) = (connections[$0], connections[$1])
                let (slow, fast) = (left.rate.bytesPerSecond ?? 0, right.rate.bytesPerSecond ?? 0)
                return slow == fast ? left.id > right.id : slow < fast
            }
            guard let slowest else { return actions }
            connections[slowest].stopping = .surplus
            actions.append(.stop(connections[slowest].id, .surplus))
        }
    }

    /// Stops a connection that is far slower than the others. A new connection may use a better path or source.
    mutating func stopSlow(_ now: Double) -> [SegmentAction] {
        guard singleReason == nil, slowStops < Self.mostSlowStops, limits.forced != nil || !countController.isSearching,
            connections.allSatisfy(\.flows)
        else { return [] }
        let rates = connections.compactMap(\.rate.bytesPerSecond)
        guard rates.count == connections.count, rates.count > 1,
            let slowest = connections.indices.min(by: { rates[$0] < rates[$1] })
        else { return [] }
        let sum = rates.reduce(0, +)
        let mean = (sum - rates[slowest]) / Double(rates.count - 1)
        let connection = connections[slowest]
        guard rates[slowest] < mean * Self.hopelessShare, now - (connection.answeredAt ?? now) >= Self.trialTime,
            Double(map.missing.count) >= sum * Self.leastLeft
        else { return [] }
        slowStops += 1
        connections[slowest].stopping = .slow
        return [.stop(connection.id, .slow)]
    }

    private mutating func stop(
        _ reason: SegmentStop, where isMeant: (SegmentConnection, ByteRanges) -> Bool
    ) -> [SegmentAction] {
        let missing = map.missing
        var actions: [SegmentAction] = []
        for index in connections.indices {
            guard connections[index].stopping == nil, isMeant(connections[index], missing) else { continue }
            connections[index].stopping = reason
            actions.append(.stop(connections[index].id, reason))
        }
        return actions
    }

    /// The share of the others' mean rate below which a connection is stopped.
    private static let hopelessShare = 0.125
    /// The number of seconds that a connection has before its rate is judged.
    private static let trialTime: Double = 1
    /// The shortest remaining time in seconds for which a new connection is worthwhile.
    private static let leastLeft: Double = 2
    /// The maximum number of connections that are replaced because they are slow. If a server slows connections down
    /// deliberately, the scheduler accepts that after this number.
    private static let mostSlowStops = 4
}
