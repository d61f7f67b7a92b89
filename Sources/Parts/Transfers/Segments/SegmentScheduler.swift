import NightshiftAPI
package import Store

/// Decides which connections fetch which bytes of one file.
///
/// This is a pure value: inputs return the actions to execute, in order. Times are boot seconds. See
/// `docs/decisions/0016`.
///
/// The scheduler begins with ``adopt(position:servedEnd:begunAt:answeredAt:now:)`` when the response of a single
/// exchange is arriving, or with ``start(now:)`` when a map with gaps is continued. It ends with
/// ``SegmentAction/finished``, ``SegmentAction/fallBack(reason:)``, ``SegmentAction/refused`` or
/// ``SegmentAction/exhausted(notBefore:)``. Later inputs have no effect.
package struct SegmentScheduler: Sendable {
    /// The bytes on disk, as of the last input.
    package internal(set) var map: SegmentMap
    package internal(set) var isOver = false
    var limits: SegmentLimits
    /// The running connections, by ascending number.
    var connections: [SegmentConnection] = []
    var sources: [SegmentSource]
    var countController = ConnectionCountController(startingWith: 1)
    /// The reason, found in a response, why only one connection may be used.
    var singleReason: String?
    /// The reason why ranges cannot be requested from any source.
    var fallBackReason: String?
    /// Whether the task must handle the last response.
    var isRefused = false
    var lastConnection = -1
    /// The time of the last input of positions, in boot seconds.
    var sampledAt: Double
    /// The number of connections that were replaced for being slow.
    var slowStops = 0
    /// Whether a connection has received its first bytes since the last input of positions.
    var isReadingDue = false
    /// The actions that were decided while an input was being handled.
    var notices: [SegmentAction] = []

    /// Creates the scheduler for a file with these bytes on disk.
    ///
    /// - Parameter sources: the number of URLs: the task's own URL and its mirrors.
    package init(map: SegmentMap, limits: SegmentLimits, sources: Int = 1, now: Double) {
        self.map = map
        self.limits = limits
        self.sources = Array(repeating: SegmentSource(), count: max(1, sources))
        sampledAt = now
    }

    /// The minimum number of missing bytes for which a download begins with two connections. A smaller file has often
    /// arrived before a measurement shows whether the second one was worth its request.
    private static let leastForTwo: Int64 = 16 << 20
}

// MARK: - Inputs

extension SegmentScheduler {
    /// Takes over the response of a single exchange as connection 0, which fetches all missing bytes.
    ///
    /// - Parameters:
    ///   - position: the file offset after the last byte of the exchange.
    ///   - servedEnd: the offset at which the response's body ends.
    ///   - begunAt: the time of the request; `answeredAt`: the time of the head.
    package mutating func adopt(
        position: Int64, servedEnd: Int64, begunAt: Double, answeredAt: Double, now: Double
    ) -> [SegmentAction] {
        guard !isOver, connections.isEmpty else { return [] }
        var connection = SegmentConnection(
            id: nextConnection(), source: 0, range: position..<max(position, min(servedEnd, map.total)),
            begunAt: begunAt)
        connection.servedEnd = servedEnd
        connection.answeredAt = now
        connection.heardAt = now
        sources[0].latency = max(0, answeredAt - begunAt)
        connections = [connection]
        sampledAt = now
        let known = limits.useful.map { min($0, Int(map.missing.count / SegmentEligibility.leastMissing)) }
        let start = known ?? (map.missing.count >= Self.leastForTwo ? 2 : 1)
        countController = ConnectionCountController(startingWith: max(1, min(start, mostConnections)))
        return decide(now)
    }

    /// Starts the download while it has no connection.
    package mutating func start(now: Double) -> [SegmentAction] {
        guard !isOver, connections.isEmpty else { return [] }
        sampledAt = now
        return decide(now)
    }

    /// Handles an accepted response, which carries the bytes `served`. Bytes after the connection's range are not
    /// wanted.
    package mutating func answered(_ id: ConnectionID, served: Range<Int64>, now: Double) -> [SegmentAction] {
        guard !isOver, let index = index(id), connections[index].answeredAt == nil else { return [] }
        let asked = connections[index].rest
        guard served.lowerBound <= asked.lowerBound, served.upperBound > asked.lowerBound,
            served.upperBound - asked.lowerBound >= min(Int64(asked.count), Self.leastServed)
        else {
            if connections[index].stopping == nil { notices.append(.stop(id, .distrusted)) }
            connections[index].stopping = .distrusted
            distrust(connections[index].source, "the server sends parts of only \(served.count) bytes")
            return decide(now)
        }
        connections[index].position = served.lowerBound
        connections[index].servedEnd = served.upperBound
        isReadingDue = true
        connections[index].answeredAt = now
        connections[index].heardAt = now
        endRelieved(by: connections[index])
        let source = connections[index].source
        sources[source].hasSentParts = true
        let latency = max(0, now - connections[index].begunAt)
        sources[source].latency = ((sources[source].latency ?? latency) + latency) / 2
        return decide(now)
    }

    /// Handles the current positions of the connections. Callers must call this at ``nextDeadline``, and may call it at
    /// any time.
    package mutating func progressed(_ positions: [ConnectionID: Int64], now: Double) -> [SegmentAction] {
        guard !isOver else { return [] }
        // The machine was asleep or too busy for readings, so this silence does not show a problem.
        let unheard = now - sampledAt - readingInterval
        for index in connections.indices {
            if unheard > 0 { connections[index].heardAt = min(now, connections[index].heardAt + unheard) }
            guard let position = positions[connections[index].id] else { continue }
            advance(index, to: position, now)
        }
        sampledAt = max(sampledAt, now)
        isReadingDue = false
        return decide(now)
    }

    /// Handles the end of a connection; `position` is the offset after its last byte. Callers should call
    /// ``progressed(_:now:)`` first. The bytes that the connection leaves, and bytes that other connections can give
    /// up, are reassigned at once.
    package mutating func ended(
        _ id: ConnectionID, position: Int64, _ end: SegmentEnd, now: Double
    ) -> [SegmentAction] {
        guard !isOver, let index = index(id) else { return [] }
        advance(index, to: position, now)
        let connection = connections.remove(at: index)
        for other in connections.indices where connections[other].races == id { connections[other].races = nil }
        conclude(connection, end, now)
        return decide(now)
    }

    /// Applies changed limits.
    package mutating func change(_ limits: SegmentLimits, now: Double) -> [SegmentAction] {
        self.limits = limits
        return isOver ? [] : decide(now)
    }

    /// Records synced bytes: the bytes that ``map`` listed as written when the sync began.
    package mutating func synced(_ ranges: ByteRanges) {
        map.sync(ranges)
    }

    /// The latest time for the next input of positions; nil if none is needed.
    package var nextDeadline: Double? {
        guard !isOver else { return nil }
        return isReadingDue ? sampledAt : sampledAt + readingInterval
    }

    /// The number of connections that measurements have found to be useful; nil if there was no measurement.
    package var usefulConnections: Int? { countController.useful }

    /// The part that each connection fetches now, for display.
    package var segments: [(id: ConnectionID, source: Int, range: Range<Int64>)] {
        connections.map { ($0.id, $0.source, $0.rest) }
    }
}

// MARK: - Deciding

extension SegmentScheduler {
    func index(_ id: ConnectionID) -> Int? { connections.firstIndex { $0.id == id } }

    mutating func nextConnection() -> ConnectionID {
        lastConnection += 1
        return ConnectionID(lastConnection)
    }

    /// The maximum number of connections that may run.
    var mostConnections: Int {
        guard singleReason == nil else { return 1 }
        let used = sources.filter { !$0.isDropped }
        let taken = used.reduce(0) { $0 + min(limits.perSource, $1.cap) }
        return max(1, min(limits.inAll(sources: used.count), taken))
    }

    /// The number of connections that are wanted now.
    var wantedConnections: Int {
        if limits.forced != nil { return mostConnections }
        return min(countController.target, mostConnections)
    }

    private var secondsLeft: Double {
        let rate = connections.reduce(0) { $0 + ($1.rate.bytesPerSecond ?? 0) }
        return rate > 0 ? Double(map.missing.count) / rate : .infinity
    }

    /// The number of seconds from one reading of the connections' positions to the next.
    private var readingInterval: Double {
        guard mostConnections > 1 else { return Self.idleInterval }
        let isClose = countController.isSearching || secondsLeft < Self.endGame
        return isClose ? Self.searchInterval : Self.interval
    }

    private mutating func decide(_ now: Double) -> [SegmentAction] {
        guard !isOver else { return [] }
        var actions = notices
        notices = []
        if map.isComplete {
            isOver = true
            actions += connections.filter { $0.stopping == nil }.map { .stop($0.id, .finished) }
            connections = []
            return actions + [.finished]
        }
        if let fallBackReason {
            isOver = true
            actions += connections.filter { $0.stopping == nil }.map { .stop($0.id, .distrusted) }
            connections = []
            return actions + [.fallBack(reason: fallBackReason)]
        }
        if isRefused {
            isOver = true
            connections = []
            return actions + [.refused]
        }
        actions += stopRedundant()
        actions += stopSilent(now)
        if limits.forced == nil, singleReason == nil, sampledAt == now { countController.update(reading(now)) }
        actions += stopSurplus()
        actions += stopSlow(now)
        actions += lengthen()
        actions += beginConnections(now)
        if connections.isEmpty {
            isOver = true
            let until = sources.filter { !$0.isDropped }.map(\.pausedUntil).min() ?? 0
            actions.append(.exhausted(notBefore: until > now ? until : nil))
        }
        return actions
    }

    private func reading(_ now: Double) -> ConnectionCountController.Reading {
        let mark = countController.newcomersFrom
        let flowing = connections.filter(\.flows)
        return ConnectionCountController.Reading(
            now: now, bytes: map.count, flows: flowing.map { flow($0, now) }, most: mostConnections,
            missing: map.missing.count, latency: sources.compactMap(\.latency).min(),
            newcomersLag: { before in
                let old = flowing.filter { $0.id.number < mark }.compactMap(\.rate.bytesPerSecond)
                let new = flowing.filter { $0.id.number >= mark }.compactMap(\.rate.bytesPerSecond)
                guard !old.isEmpty, !new.isEmpty else { return false }
                let sum = old.reduce(0, +)
                let mean = new.reduce(0, +) / Double(new.count)
                return sum >= before * Self.keptShare && mean < sum / Double(old.count) * Self.slowShare
            },
            nextConnection: lastConnection + 1)
    }

    private func flow(_ connection: SegmentConnection, _ now: Double) -> RateMeasurement.Flow {
        // Bytes that arrive directly after the response were already prepared by the server.
        let isNew = now - (connection.answeredAt ?? now) < Self.searchInterval / 2
        return RateMeasurement.Flow(
            id: connection.id, received: connection.received,
            isFlowing: connection.heardAt == now && connection.received > 0 && !isNew)
    }

    /// Ends the relieved connection at the offset where the part of `connection` begins.
    private mutating func endRelieved(by connection: SegmentConnection) {
        guard let relieved = connection.relieves.flatMap(index), connections[relieved].stopping == nil,
            connection.range.lowerBound < connections[relieved].toldEnd
        else { return }
        connections[relieved].toldEnd = connection.range.lowerBound
        notices.append(.setEnd(connections[relieved].id, connection.range.lowerBound))
    }

    private mutating func advance(_ index: Int, to position: Int64, _ now: Double) {
        let before = connections[index].position
        guard let answeredAt = connections[index].answeredAt else { return }
        let count = max(0, position - before)
        connections[index].rate.add(count, over: now - max(sampledAt, answeredAt))
        guard count > 0 else { return }
        // The ended connection may also have received bytes of parts whose own connections had no response yet. These
        // bytes are valid as well.
        map.write(before..<position)
        let range = connections[index].range
        connections[index].range = range.lowerBound..<max(range.upperBound, min(position, map.total))
        connections[index].position = position
        connections[index].received += count
        connections[index].longestSilence = max(connections[index].longestSilence, now - connections[index].heardAt)
        connections[index].heardAt = now
        sources[connections[index].source].stalls = 0
    }

    /// The smallest useful part in bytes. If a server sends smaller parts, they are not worth the requests.
    static let leastServed: Int64 = 64 << 10
    /// The share of the others' mean rate below which a new connection itself counts as slow.
    static let slowShare = 0.25
    /// The share of their earlier rate above which the other connections count as undisturbed.
    static let keptShare = 0.85
    /// The number of seconds between readings while the scheduler searches for the number of connections, and near the
    /// end. The next two constants are for other times and for a single connection.
    private static let searchInterval: Double = 0.1
    private static let interval: Double = 0.5
    private static let idleInterval: Double = 1
    /// The number of remaining seconds below which the download counts as near the end.
    private static let endGame: Double = 2
}
