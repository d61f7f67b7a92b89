/// A connection of a split download. Numbers are not reused.
package struct ConnectionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var number: Int

    package init(_ number: Int) {
        self.number = number
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool { left.number < right.number }

    package var description: String { "\(number)" }
}

/// An action that the scheduler requests. Actions are executed in order.
package enum SegmentAction: Hashable, Sendable {
    /// Requests exactly these bytes from `source` (0 is the task's own URL) over a new connection.
    case begin(ConnectionID, source: Int, range: Range<Int64>)
    /// Lets the connection write up to this offset and then end, even if its response continues. The connection may
    /// already have ended or passed the offset.
    case setEnd(ConnectionID, Int64)
    /// Cancels the connection. The connection counts as running until its end is reported.
    case stop(ConnectionID, SegmentStop)
    /// Stops the use of this mirror.
    case dropSource(Int, reason: String)
    /// Limits the origin of this source to this number of connections for all transfers, until this boot second.
    case limitHost(source: Int, connections: Int, until: Double)
    /// Restricts the download to one connection from now on.
    case single(reason: String)
    /// The scheduler has finished because all bytes are written. Connections that were still running have been stopped.
    case finished
    /// The scheduler has finished. The file must be truncated to its contiguous beginning, and the rest requested over
    /// a single connection at once.
    case fallBack(reason: String)
    /// The scheduler has finished. No connection is running, and the task must handle the last
    /// ``SegmentEnd/refused(_:)`` with the bytes it has.
    case refused
    /// The scheduler has finished. No connection is running, and the scheduler may send no request now. The task waits
    /// with its bytes as after any failure. If a boot second is given, the task waits at least until then.
    case exhausted(notBefore: Double?)
}

/// The reason for cancelling a connection.
package enum SegmentStop: String, Hashable, Sendable {
    /// No byte arrived for too long.
    case stalled
    /// The connection is far slower than the others.
    case slow
    /// Other connections have received the bytes of this connection.
    case redundant
    /// The connection does not raise the total rate, or exceeds a new limit.
    case surplus
    /// The source of the connection is no longer used.
    case distrusted
    /// All bytes have arrived.
    case finished
}

/// The end of a connection.
package enum SegmentEnd: Hashable, Sendable {
    /// The response was complete, or the connection reached its set end.
    case complete
    /// The connection was cancelled by ``SegmentAction/stop(_:_:)``.
    case stopped
    /// The network or the server broke the connection, or the response reported a temporary error.
    case failed
    /// The server answered 429 or 503, because there are too many connections. `until` is in boot seconds, from
    /// `Retry-After`.
    case busy(until: Double?)
    /// The server requires another form of the request (``RangeCondition``). The caller remembers that form.
    case again
    /// The response shows that the parts of this source are not reliable. None of its bytes was written.
    case distrusted(String)
    /// The response concerns the request itself, not the part: a permanent refusal, a challenge, or an intermediary's
    /// page. None of its bytes was written.
    case refused(String)
}
