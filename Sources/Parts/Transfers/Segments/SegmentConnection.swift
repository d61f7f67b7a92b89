/// A connection and the bytes that it has to fetch.
struct SegmentConnection: Hashable, Sendable {
    let id: ConnectionID
    let source: Int
    let begunAt: Double
    /// The bytes to fetch; the end may move.
    var range: Range<Int64>
    /// The offset after the last byte that the connection has written.
    var position: Int64
    /// The offset at which the body of the connection's response ends; nil before the response.
    var servedEnd: Int64?
    /// The connection that this one races: both fetch the same bytes.
    var races: ConnectionID?
    /// The connection whose part this one takes over when its response arrives.
    var relieves: ConnectionID?
    /// The offset at which the service asked the connection to end. The offset is not lowered before the connection
    /// that takes over has a response. Otherwise a refusal would cost a working connection.
    var toldEnd = Int64.max
    var stopping: SegmentStop?
    var rate = RateMeter()
    /// The time of the first byte, in boot seconds. The rate is measured from this time.
    var answeredAt: Double?
    /// The time of the last byte, or of the start, in boot seconds.
    var heardAt: Double
    var longestSilence: Double = 0
    /// The number of bytes received, including bytes that were not needed.
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
    /// The highest number of connections that the source accepts, as a refusal has shown.
    var cap = Int.max
    /// The boot second before which no request is sent to the source.
    var pausedUntil: Double = 0
    /// The recent time in seconds from request to response.
    var latency: Double?
    /// The recent rate of one connection in bytes per second.
    var rate: Double?
    /// The number of consecutive connections that received almost nothing.
    var failures = 0
    /// The number of consecutive connections that became silent.
    var stalls = 0
    /// The number of times that the source required another form of the request.
    var repetitions = 0
}
