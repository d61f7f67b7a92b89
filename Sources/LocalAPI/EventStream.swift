import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import NightshiftAPI
import ServiceLifecycle
import Synchronization

/// Server-sent events: one connection that carries what happens, as it happens.
///
/// The next event is asked for when the last one was taken by the socket: a reader that stops costs what the socket's
/// buffer and one event hold. Nothing is sent to keep the connection alive; a Unix socket needs no such thing.
enum EventStream {
    /// A stream's answer. It ends with `events`, with the client, or when the service stops.
    ///
    /// Refuses a request with a body: nobody would read it, and behind it the client's end would not be seen.
    static func response<Event: StreamedEvent>(
        to request: Request, events: AsyncStream<Event>, place: EventStreams.Place
    ) throws(Problem) -> Response {
        guard request.headers[.transferEncoding] == nil, Int(request.headers[.contentLength] ?? "0") == 0 else {
            throw .badRequest("A request for an event stream must not have a body.")
        }
        var headers = HTTPFields.common
        headers[.contentType] = "text/event-stream"
        // The end of the stream is also the end of the connection: nothing can follow an answer without end.
        headers[.connection] = "close"
        let body = ResponseBody { writer in
            // Keeps the place until the stream is over, also when the body is never asked for.
            defer { withExtendedLifetime(place) {} }
            try await writer.write(ByteBuffer(string: preamble))
            try await pump(events, into: &writer, until: request.body)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// When to connect again after the end, and a comment so that the head is on its way before the first event.
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
            // The client or the service has had enough.
        }
    }
}

/// Counts the streams of one kind, of which there may be so many at once.
final class EventStreams: Sendable {
    private let open = Mutex(0)
    private let limit: Int

    init(limit: Int = Limits.eventStreams) {
        self.limit = limit
    }

    /// A stream's place, free again when nobody holds it.
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
