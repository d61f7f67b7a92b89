/// A connection and the bytes that it is to fetch.
struct SegmentConnection: Hashable, Sendable {
    let id: ConnectionID
    let source: Int
    let begunAt: Double
    /// The bytes that it is to fetch; the end moves.
    var range: Range<Int64>
    /// The offset behind the last byte it has written.
    var position: Int64
    /// Where its response's body ends; nil before there is a response.
    var servedEnd: Int64?
    /// The connection whose bytes it fetches as well, to be first.
    var races: ConnectionID?
    /// The connection whose part it takes over, once it has an answer.
    var relieves: ConnectionID?
    /// Where it was told to end: not before whoever relieves it has an answer, or a refusal would cost the connection
    /// that works.
    var toldEnd = Int64.max
    var stopping: SegmentStop?
    var rate = RateMeter()
    /// Boot seconds of the first byte: the rate counts from there.
    var answeredAt: Double?
    /// Boot seconds of the last byte, or of the beginning.
    var heardAt: Double
    var longestSilence: Double = 0
    /// Bytes it has brought, useful or not.
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

    /// The bytes that it still has to write.
    var rest: Range<Int64> { max(range.lowerBound, min(position, range.upperBound))..<range.upperBound }
}

/// A place where the file is to be had.
struct SegmentSource: Hashable, Sendable {
    var isDropped = false
    /// Whether it has answered with a part that was asked for: until then, that it does is only its word.
    var hasSentParts = false
    /// Connections that it was seen to refuse to exceed.
    var cap = Int.max
    /// Boot seconds before which nothing is asked of it.
    var pausedUntil: Double = 0
    /// Seconds from asking to answer, of late.
    var latency: Double?
    /// Bytes per second of one connection, of late.
    var rate: Double?
    /// Connections in a row that brought next to nothing.
    var failures = 0
    /// Connections in a row that fell silent.
    var stalls = 0
    /// Times it wanted to be asked in another way.
    var repetitions = 0
}
