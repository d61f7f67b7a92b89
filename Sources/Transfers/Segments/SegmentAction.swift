/// One of the connections of a download in segments; numbers are not used again.
package struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var number: Int

    package init(_ number: Int) {
        self.number = number
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }

    package var description: String { "\(number)" }
}

/// An effect that the scheduler asks for. Effects are executed in order.
package enum SegmentAction: Hashable, Sendable {
    /// Ask `source` (0 is the task's own URL) for exactly these bytes over another connection.
    case begin(ConnectionID, source: Int, range: Range<Int64>)
    /// The connection writes up to here and then ends, wherever its response would. It may have ended, or be past it.
    case setEnd(ConnectionID, Int64)
    /// Break the connection off. It counts until its end is reported.
    case stop(ConnectionID, SegmentStop)
    /// No more from this mirror.
    case dropSource(Int, reason: String)
    /// The origin of this source takes no more than so many connections until this boot second, from anybody.
    case limitHost(source: Int, connections: Int, until: Double)
    /// From here on one connection only.
    case single(reason: String)
    /// The machine is through: every byte is written. Connections that still run were stopped.
    case finished
    /// The machine is through: cut the file to its contiguous beginning and ask for the rest in a plain exchange at once.
    case fallBack(reason: String)
    /// The machine is through: nothing runs, and what ``SegmentEnd/refused(_:)`` told last is the task's to deal with, with the bytes
    /// it has.
    case refused
    /// The machine is through: nothing runs and nothing may be asked now. The task waits, as after any trouble, with the bytes
    /// it has; no earlier than at this boot second, where there is one.
    case exhausted(notBefore: Double?)
}

/// Why a connection is broken off.
package enum SegmentStop: String, Hashable, Sendable {
    /// No byte came for too long.
    case stalled
    /// It is far slower than the others.
    case slow
    /// Others have brought what it was to bring.
    case redundant
    /// More connections bring nothing, or are not allowed any more.
    case surplus
    /// Its source is not to be used any more.
    case distrusted
    /// All bytes are here.
    case finished
}

/// How a connection has ended.
package enum SegmentEnd: Hashable, Sendable {
    /// Its response came whole, or it reached the end that was set.
    case complete
    /// ``SegmentAction/stop(_:_:)`` was carried out.
    case stopped
    /// The network or the server broke it off; also answers that stand for trouble that passes.
    case failed
    /// 429 or 503: so many connections are too many. `until`: boot seconds, from `Retry-After`.
    case busy(until: Double?)
    /// The server wants to be asked in another way (``RangeCondition``); which one the caller keeps.
    case again
    /// The answer shows that this source's parts are not to be relied on; none of its bytes was written.
    case distrusted(String)
    /// The answer is not about parts but about the request itself: it is refused for good, the server asks who is there, or
    /// somebody in between speaks. None of its bytes was written.
    case refused(String)
}
