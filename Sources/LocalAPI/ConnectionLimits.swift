package import NIOCore
import NightshiftAPI

/// Limits of connections. `docs/limits.md` lists them with their reasons.
package struct ConnectionLimits: Hashable, Sendable {
    /// The number of open connections. Further ones wait, unaccepted, until one closes. The number is four times that
    /// of event streams, plus that of process streams, which stay open as long as an app runs.
    package var connections = 4 * Limits.eventStreams + Limits.processStreams
    /// Bytes of one header field, and of the request target.
    package var headerField = 16 << 10
    /// Bytes of all header fields of a request.
    package var headerList = 32 << 10
    package var headerFields = 100
    /// The time without a received byte after which a connection is closed that is idle or has sent only a part of a
    /// request. There is no limit while a request is being handled, or while the client reads the response, until the
    /// service stops.
    package var idleTimeout = TimeAmount.seconds(30)
    /// The time that running requests have to finish when the service stops.
    package var stopTimeout = TimeAmount.seconds(1)

    /// Bytes of a body that is not a list of transfers.
    package static let smallBody = 1 << 20
    /// The size in bytes above which bodies are read and decoded in turn.
    package static let turnlessBody = 64 << 10
    /// The number of large bodies in memory at the same time. Others stay unread in their sockets.
    package static let largeBodies = 2
    /// The time for a body to arrive once it is its turn. A body that takes longer has a sender that was suspended
    /// while sending.
    package static let bodyTimeout = Duration.seconds(10)

    package init() {}
}
