/// A connection and the bytes that it has to fetch.
struct SegmentConnection: Hashable, Sendable {
    let id: ConnectionID
    let source: Int
    let begunAt: Double
    /// The bytes to fetch; the end may move.
    var range: Range<Int64>
    /// The offset after the last byte it has written.
    var position: Int64
    /// The offset at which its response's body ends; nil before the response.
    var servedEnd: Int64?
    /// The connection whose bytes it fetches as well, in a race.
    var races: ConnectionID?
    /// The connection whose part it takes over when its response arrives.
    var relieves: ConnectionID?
    /// The end that the connection was given. It is not shortened before the connection that takes over has a response:
    /// otherwise a refusal would cost a working connection.
    var toldEnd = Int64.max
    var stopping: SegmentStop?
    var rate = RateMeter()
    /// The first byte, in boot seconds. The rate is measured from here.
    var answeredAt: Double?
    /// The last byte, or the start, in boot seconds.
    var heardAt: Double
    var longestSilence: Double = 0
    /// The number of bytes received, useful or not.
    var received: Int64 = 0

    init(id: ConnectionID, source: Int, range: Range<Int64>, begunAt: Double) {
        self.id = id
        self.source = source
        self.range = range
        self.begunAt = begunAt
        position = range.lowerBound
        heardAt = begunAt
    }

    var flows: Bool { stopping == nil && answeredAt != nil }

    /// The bytes that are left to write.
    var rest: Range<Int64> { max(range.lowerBound, min(position, range.upperBound))..<range.upperBound }
}

/// A URL that has the file.
struct SegmentSource: Hashable, Sendable {
    var isDropped = false
    /// Whether this source has sent a requested part. Until then, its support of ranges is only a claim.
    var hasSentParts = false
    /// The number of connections above which it refused more.
    var cap = Int.max
    /// The boot second before which no request is sent to it.
    var pausedUntil: Double = 0
    /// Recent seconds from request to response.
    var latency: Double?
    /// The recent rate of one connection in bytes per second.
    var rate: Double?
    /// Consecutive connections that received almost nothing.
    var failures = 0
    /// Consecutive connections that became silent.
    var stalls = 0
    /// The number of times it required another form of the request.
    var repetitions = 0
}
