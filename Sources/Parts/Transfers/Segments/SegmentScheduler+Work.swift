import NightshiftAPI
import Store

/// Assignment of bytes to connections.
extension SegmentScheduler {
    /// Moves the ends of connections back to the ends of their responses, over bytes that no other connection fetches.
    /// This costs no request.
    ///
    /// The only connection to a server without reliable ranges continues even over bytes that are already on disk.
    mutating func lengthen() -> [SegmentAction] {
        var actions: [SegmentAction] = []
        for index in connections.indices {
            let connection = connections[index]
            let end = connection.range.upperBound
            guard connection.flows, connection.position < connection.toldEnd, let servedEnd = connection.servedEnd,
                servedEnd > end
            else { continue }
            let free = unowned
            let gap = singleReason == nil ? free.ranges.first { $0.contains(end) } : free.ranges.last
            guard let gap, gap.upperBound > end else { continue }
            let moved = min(servedEnd, gap.upperBound)
            connections[index].range = connection.range.lowerBound..<moved
            connections[index].toldEnd = moved
            actions.append(.setEnd(connection.id, moved))
        }
        return actions
    }

    /// Begins connections while the limits allow more and bytes are left for them.
    mutating func beginConnections(_ now: Double) -> [SegmentAction] {
        var actions: [SegmentAction] = []
        while connections.count < wantedConnections {
            var begun: [SegmentAction] = []
            for source in usableSources(now) {
                begun = begin(source, now)
                if !begun.isEmpty { break }
            }
            guard !begun.isEmpty else { return actions }
            actions += begun
        }
        return actions
    }

    /// The missing bytes that are not assigned to any connection.
    private var unowned: ByteRanges {
        var rest = map.missing
        for connection in connections { rest.remove(connection.rest) }
        return rest
    }

    /// Returns the sources that may get another connection: untried sources first, then fast sources in turn, then slow
    /// sources.
    ///
    /// Fast sources take turns, because a second connection to a source may only share the bandwidth of the first.
    private func usableSources(_ now: Double) -> [Int] {
        let running = sources.indices.map { source in connections.count { $0.source == source } }
        let usable = sources.indices.filter {
            !sources[$0].isDropped && sources[$0].pausedUntil <= now
                && running[$0] < min(limits.perSource, sources[$0].cap)
        }
        let rates = sources.indices.map(expectedRate)
        let best = usable.map { rates[$0] }.max() ?? 0
        func rank(_ source: Int) -> Int {
            if sources[source].latency == nil, running[source] == 0 { return 0 }
            return rates[source] >= best * Self.slowSourceShare ? 1 : 2
        }
        return usable.sorted { left, right in
            if rank(left) != rank(right) { return rank(left) < rank(right) }
            if running[left] != running[right] { return running[left] < running[right] }
            return (rates[right], left) < (rates[left], right)
        }
    }

    // MARK: - Rates

    /// Returns the expected rate in bytes per second of one more connection to a source.
    private func expectedRate(_ source: Int) -> Double {
        let own = connections.filter { $0.source == source }.compactMap(\.rate.bytesPerSecond)
        return Self.typical(own + [sources[source].rate].compactMap(\.self))
            ?? Self.typical(connections.compactMap(\.rate.bytesPerSecond)) ?? Self.assumedRate
    }

    /// Returns the mean of the rates that are not far below the highest rate.
    private static func typical(_ rates: [Double]) -> Double? {
        guard let fastest = rates.max(), fastest > 0 else { return nil }
        let near = rates.filter { $0 >= fastest * slowShare }
        return near.reduce(0, +) / Double(near.count)
    }

    private func latency(_ source: Int) -> Double {
        sources[source].latency ?? sources.compactMap(\.latency).max() ?? Self.assumedLatency
    }

    private func rate(_ connection: SegmentConnection, _ now: Double) -> Double {
        if connection.answeredAt == nil {
            let timeout = Self.lateTimeout * latency(connection.source) + Self.assumedLatency
            return now - connection.begunAt > timeout ? 0 : expectedRate(connection.source)
        }
        return connection.rate.bytesPerSecond ?? expectedRate(connection.source)
    }

    // MARK: - Work

    private mutating func begin(_ source: Int, _ now: Double) -> [SegmentAction] {
        if let gap = unowned.ranges.first { return [add(source, gap, races: nil, now)] }
        guard singleReason == nil else { return [] }
        let raced = Set(connections.compactMap(\.races))
        let victims = connections.indices.filter {
            connections[$0].stopping == nil && connections[$0].races == nil && !raced.contains(connections[$0].id)
                && !connections[$0].rest.isEmpty
        }
        let slowestFirst = victims.map { (index: $0, time: secondsLeft($0, now)) }.sorted { $0.time > $1.time }
        for (victim, _) in slowestFirst {
            let actions = share(victim, source, now)
            if !actions.isEmpty { return actions }
        }
        return []
    }

    private func secondsLeft(_ index: Int, _ now: Double) -> Double {
        let rate = rate(connections[index], now)
        return rate > 0 ? Double(connections[index].rest.count) / rate : .infinity
    }

    /// Lets a new connection take over a part of another connection's remaining bytes, or race the other connection for
    /// all of these bytes.
    private mutating func share(_ index: Int, _ source: Int, _ now: Double) -> [SegmentAction] {
        let victim = connections[index]
        let rest = victim.rest
        // In a race, another connection may already have received some of these bytes.
        let missing = map.missing.clamped(to: rest).ranges
        guard let tail = missing.last else { return [] }
        let bytes = Double(rest.count)
        let old = rate(victim, now)
        let new = expectedRate(source)
        let latency = latency(source)
        let part = new * (bytes - latency * old) / (new + old)
        let saved = old > 0 ? part / old : .infinity
        let wish = max(rest.upperBound - Int64(saturating: max(0, part)), rest.lowerBound + Self.leastKept)
        let cut = max(Self.aligned(wish), tail.lowerBound)
        if part >= Self.leastPart, cut < tail.upperBound, cut > rest.lowerBound,
            saved >= max(Self.leastSaved, 2 * latency)
        {
            connections[index].range = victim.range.lowerBound..<cut
            let action = add(source, cut..<tail.upperBound, races: nil, now)
            connections[connections.count - 1].relieves = victim.id
            return [action]
        }
        let isEnd = missing.count == 1 && tail.count <= Self.mostRaced
        let isFaster = old == 0 || latency + Double(tail.count) / new < bytes / old * Self.racedShare
        guard isEnd, isFaster else { return [] }
        return [add(source, tail, races: victim.id, now)]
    }

    private mutating func add(
        _ source: Int, _ range: Range<Int64>, races: ConnectionID?, _ now: Double
    ) -> SegmentAction {
        var connection = SegmentConnection(id: nextConnection(), source: source, range: range, begunAt: now)
        connection.races = races
        connections.append(connection)
        return .begin(connection.id, source: source, range: range)
    }

    private static func aligned(_ offset: Int64) -> Int64 {
        (offset + alignment - 1) / alignment * alignment
    }

    /// The share of the best source's rate per connection below which a source is used last.
    private static let slowSourceShare = 0.5
    /// The alignment in bytes of the offsets at which parts are divided. Writes then cover whole pages, and the offsets
    /// are easy to recognise.
    private static let alignment: Int64 = 64 << 10
    /// The minimum number of bytes that justify a separate request.
    private static let leastPart: Double = 262_144
    /// The minimum number of bytes that stay with the other connection, because it may have advanced since the last
    /// reading.
    private static let leastKept: Int64 = 64 << 10
    /// The smallest gain in seconds that counts. Smaller gains are lost in measurement errors.
    private static let leastSaved = 0.1
    /// The maximum number of bytes that may be requested twice.
    private static let mostRaced = 1 << 20
    /// The share of the remaining time within which a racing connection must finish. A slower race does not justify
    /// fetching bytes twice.
    private static let racedShare = 0.7
    /// The number of latencies after which a connection without a response is assumed to receive nothing.
    private static let lateTimeout: Double = 3
    /// The assumed rate in bytes per second, and the assumed latency in seconds, before any measurement.
    private static let assumedRate: Double = 1_000_000
    private static let assumedLatency: Double = 0.2
}
