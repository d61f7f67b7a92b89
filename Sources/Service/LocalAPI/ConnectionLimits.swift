package import NIOCore
import NightshiftAPI

/// The limits of connections to the local API. `docs/limits.md` lists them with their reasons.
package struct ConnectionLimits: Hashable, Sendable {
    /// The maximum number of open connections. Further connections stay unaccepted until one closes. The value allows
    /// four connections for each event stream and one for each process stream, because a process stream stays open as
    /// long as its app runs.
    package var connections = 4 * Limits.eventStreams + Limits.processStreams
    /// The maximum size in bytes of a header field, and of the request target.
    package var headerField = 16 << 10
    /// The maximum size in bytes of all header fields of a request together.
    package var headerList = 32 << 10
    package var headerFields = 100
    /// The time after which a connection without received bytes is closed. It applies to a connection that is idle or
    /// that has sent only a part of a request. It does not apply while a request is being handled or while the client
    /// reads the response, until the service stops.
    package var idleTimeout = TimeAmount.seconds(30)
    /// The time that running requests have to finish when the service stops.
    package var stopTimeout = TimeAmount.seconds(1)

    /// The maximum size in bytes of a body that is not a list of transfers.
    package static let smallBody = 1 << 20
    /// The maximum size in bytes of a body that the service reads at once. The service reads and decodes only a few
    /// larger bodies at the same time.
    package static let turnlessBody = 64 << 10
    /// The maximum number of large bodies in memory at the same time. Further bodies stay unread in their sockets.
    package static let largeBodies = 2
    /// The time in which a large body must arrive after the service has begun to read it. If a body takes longer, its
    /// sender was probably suspended while sending.
    package static let bodyTimeout = Duration.seconds(10)

    package init() {}
}
