import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NightshiftAPI
import ServiceLifecycle
import Synchronization

/// Server-sent events: a response that carries events as they happen.
///
/// The next event is requested when the socket has accepted the previous one. A client that does not read therefore
/// uses only the socket's buffer and the memory of one event. The service sends nothing to keep the connection alive,
/// because a Unix socket does not need that.
enum EventStream {
    /// Creates the response with an event stream. The stream ends when `events` ends, when the client closes it, or
    /// when the service stops.
    ///
    /// A request with a body is refused. The body would not be read, so the service could not detect when the client
    /// closes the connection.
    static func response<Event: StreamedEvent>(
        to request: Request, events: AsyncStream<Event>, place: EventStreams.Place
    ) throws(Problem) -> Response {
        guard request.headers[.transferEncoding] == nil, Int(request.headers[.contentLength] ?? "0") == 0 else {
            throw .badRequest("A request for an event stream must not have a body.")
        }
        var headers = HTTPFields.common
        headers[.contentType] = "text/event-stream"
        // The connection ends with the stream, because no further response can follow.
        headers[.connection] = "close"
        let body = ResponseBody { writer in
            // One of the limited streams is reserved until this stream ends, even if the body is never requested.
            defer { withExtendedLifetime(place) {} }
            try await writer.write(ByteBuffer(string: preamble))
            try await pump(events, into: &writer, until: request.body)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// The first lines of the stream: the delay before a reconnection, and a comment. The comment causes the head to be
    /// sent before the first event.
    private static let preamble = "retry: 1000\n\n: connected\n\n"

    @concurrent private static func pump<Event: StreamedEvent>(
        _ events: AsyncStream<Event>, into writer: inout any ResponseBodyWriter, until body: RequestBody
    ) async throws {
        do {
            try await body.consumeWithCancellationOnInboundClose { _ in
                if Event.endsBeforeTheServer {
                    for await event in events { try await writer.write(event.frame()) }
                } else {
                    for await event in events.cancelOnGracefulShutdown() { try await writer.write(event.frame()) }
                }
            }
        } catch is CancellationError {
            // Either the client closed the connection, or the service is stopping.
        }
    }
}

/// A counter of the open streams of one kind, with a limit.
final class EventStreams: Sendable {
    private let open = Mutex(0)
    private let limit: Int

    init(limit: Int = Limits.eventStreams) {
        self.limit = limit
    }

    /// The claim of one open stream to one of the limited streams. The claim ends when the last reference to this
    /// object is released.
    final class Place: Sendable {
        private let streams: EventStreams

        fileprivate init(_ streams: EventStreams) {
            self.streams = streams
        }

        deinit {
            streams.open.withLock { $0 -= 1 }
        }
    }

    func enter() throws(Problem) -> Place {
        let isFree = open.withLock { open in
            guard open < limit else { return false }
            open += 1
            return true
        }
        guard isFree else { throw .tooMany("\(limit) streams of this kind are already open, which is the maximum.") }
        return Place(self)
    }
}
