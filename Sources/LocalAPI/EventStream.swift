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
/// only costs the socket's buffer and one event. Nothing is sent to keep the connection alive, because a Unix socket
/// does not need it.
enum EventStream {
    /// The response with an event stream. It ends with `events`, with the client, or when the service stops.
    ///
    /// A request with a body is refused, because the body would not be read, and the end of the connection could not be
    /// detected after it.
    static func response<Event: StreamedEvent>(
        to request: Request, events: AsyncStream<Event>, place: EventStreams.Place
    ) throws(Problem) -> Response {
        guard request.headers[.transferEncoding] == nil, Int(request.headers[.contentLength] ?? "0") == 0 else {
            throw .badRequest("A request for an event stream must not have a body.")
        }
        var headers = HTTPFields.common
        headers[.contentType] = "text/event-stream"
        // The end of the stream is also the end of the connection, because no response can follow.
        headers[.connection] = "close"
        let body = ResponseBody { writer in
            // Reserves the place until the stream ends, even if the body is never requested.
            defer { withExtendedLifetime(place) {} }
            try await writer.write(ByteBuffer(string: preamble))
            try await pump(events, into: &writer, until: request.body)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// The delay before a reconnection, and a comment, so that the head is sent before the first event.
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
            // The client closed the connection, or the service is stopping.
        }
    }
}

/// Counts the open streams of one kind, up to a limit.
final class EventStreams: Sendable {
    private let open = Mutex(0)
    private let limit: Int

    init(limit: Int = Limits.eventStreams) {
        self.limit = limit
    }

    /// The place of one stream. It is freed when its last reference is released.
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
