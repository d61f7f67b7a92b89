package import NIOCore
import NightshiftAPI

/// Bounds of the connections themselves; `docs/limits.md` lists them with their reasons.
package struct ConnectionLimits: Hashable, Sendable {
    /// Connections at once; further ones wait, unaccepted, until one ends. Four times the event streams, and beside them
    /// the streams of processes, which stay open as long as an app lives.
    package var connections = 4 * Limits.eventStreams + Limits.processStreams
    /// Bytes of one header field, and of the request target.
    package var headerField = 16 << 10
    /// Bytes of all header fields of a request.
    package var headerList = 32 << 10
    package var headerFields = 100
    /// Without a byte of a request that is awaited or half here, the connection is closed. A request that is being
    /// answered has all the time it needs, and so has a client that reads its answer, until the service stops.
    package var idleTimeout = TimeAmount.seconds(30)
    /// The time that requests under way have to end when the service stops.
    package var stopTimeout = TimeAmount.seconds(1)

    /// Bytes of a body that is not a list of tasks.
    package static let smallBody = 1 << 20
    /// Bodies above this are read and decoded in turns.
    package static let turnlessBody = 64 << 10
    /// Large bodies in memory at once; the others stay unread in their sockets.
    package static let largeBodies = 2
    /// The time that a body has to come in whose turn it is. It is there by then, or its sender was stopped in the middle of it.
    package static let bodyPatience = Duration.seconds(10)

    package init() {}
}
