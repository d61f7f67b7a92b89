import Foundation
package import NightshiftAPI
import NightshiftCurl

/// A client of the local API over the socket of the service.
package struct ServiceClient: Sendable {
    private let locate: @Sendable () -> String
    /// Header fields that are added to every request.
    private var fields: [CurlField] = []
    /// A callback for parts of responses that were left out because this program cannot read them.
    package var onUnreadable: (@Sendable ([UnreadablePart]) -> Void)?

    /// The loop with the thread for all requests of this process. The thread starts with the first request.
    static let loop = CurlLoop()
    /// The timeout in seconds for a silent connection. The slowest response is the one to a large batch on a slow disk.
    static let idleTimeout = 60.0
    /// The maximum size of a response in bytes: enough for a thousand transfers with all header fields of their
    /// responses.
    private static let answerLimit = 512 << 20

    /// Creates a client for the socket at a path.
    package init(socket: String) {
        locate = { socket }
    }

    /// Creates a client for the service with these paths. The client also finds a socket at another path, if the
    /// service recorded it.
    package init(paths: ServicePaths) {
        let location = ServiceLocation(paths: paths)
        locate = { location.socket }
    }

    /// The current path of the service's socket.
    package var socket: String { locate() }

    /// Returns a client whose requests belong to one command stream. The service refuses them once another stream has
    /// replaced it.
    ///
    /// - Parameter channel: The value of ``ProcessHello/channel``; nil if the service did not send one.
    package func on(_ channel: String?) -> ServiceClient {
        var client = self
        client.fields = channel.map { [CurlField(name: ProcessHello.channelField, value: $0)] } ?? []
        return client
    }

    /// Sends a request and returns the response of the service. Throws ``Problem`` if the request is refused,
    /// ``ServiceUnreachable`` if there is no response, and ``ServiceUnusable`` if the response cannot be parsed.
    package func send<Answer>(_ endpoint: Endpoint<Answer>) async throws -> Answer {
        let request = exchange(try endpoint.encoded())
        let response: CurlResponse
        do {
            response = try await Self.loop.send(request, bodyLimit: Self.answerLimit)
        } catch {
            throw Self.failure(error)
        }
        let body = Data(response.body)
        try Self.requireGood(response.head, body)
        let (answer, unreadable) = try endpoint.readableAnswer(from: body)
        if !unreadable.isEmpty { onUnreadable?(unreadable) }
        return answer
    }

    /// Passes the file of a transfer to `body` piece by piece, as fast as `body` accepts the pieces. `body` returns
    /// whether it wants more. Throws like ``send(_:)``, and also if the content is incomplete.
    package func content(of id: TaskID, _ body: ([UInt8]) throws -> Bool) async throws {
        let encoded = try Endpoint<Data>.content(of: id).encoded()
        do {
            // There is no timeout, because the reader of standard output may be slow.
            let stream = try await Self.loop.stream(request(encoded.method, encoded.path))
            guard stream.head.status == 200 else {
                var problem: [UInt8] = []
                while let bytes = try await stream.next(isolation: #isolation) { problem += bytes }
                try Self.requireGood(stream.head, Data(problem))
                throw ServiceUnreachable(message: "The service did not send the content (HTTP \(stream.head.status)).")
            }
            while let bytes = try await stream.next(isolation: #isolation) {
                guard try body(bytes) else { return }
            }
        } catch let end as CurlEnd {
            throw Self.failure(end)
        }
    }

    /// Returns a sequence of events that connects when the first event is requested. The sequence ends with the
    /// connection.
    package func events(_ source: EventSource, lastEventID: Int64) -> ServiceEvents {
        ServiceEvents(client: self, source: source, lastEventID: lastEventID)
    }

    func stream(_ source: EventSource, lastEventID: Int64) async throws -> CurlStream {
        do {
            let stream = try await Self.loop.stream(request(source, lastEventID: lastEventID))
            if stream.head.status == 200 { return stream }
            var body: [UInt8] = []
            while let bytes = try await stream.next(isolation: #isolation) { body += bytes }
            try Self.requireGood(stream.head, Data(body))
            throw ServiceUnreachable(message: "The service did not send events (HTTP \(stream.head.status)).")
        } catch let end as CurlEnd {
            throw Self.failure(end)
        }
    }

    static func requireGood(_ head: CurlHead, _ body: Data) throws {
        guard head.status >= 300 else { return }
        throw (try? JSON.decodeKnown(Problem.self, from: body))
            ?? Problem(
                type: "about:blank", title: "The service sent HTTP status \(head.status)", status: head.status)
    }

    static func failure(_ end: CurlEnd) -> any Error {
        if end.wasCancelled { return CancellationError() }
        return ServiceUnreachable(message: "The service does not respond, or closed the connection: \(end.message)")
    }

    func exchange(_ encoded: EncodedRequest) -> CurlRequest {
        var request = self.request(encoded.method, encoded.path)
        request.idleTimeout = Self.idleTimeout
        if let body = encoded.body {
            request.headers.append(CurlField(name: "Content-Type", value: encoded.contentType))
            request.body = .bytes([UInt8](body))
        }
        return request
    }

    func request(_ source: EventSource, lastEventID: Int64) -> CurlRequest {
        var request = self.request(.get, source.path)
        request.headers.append(CurlField(name: "Accept", value: "text/event-stream"))
        request.headers.append(CurlField(name: "Last-Event-ID", value: String(lastEventID)))
        return request
    }

    private func request(_ method: RequestMethod, _ path: String) -> CurlRequest {
        let socket = socket
        var request = CurlRequest(unixSocket: socket, method: method.rawValue, path: path)
        request.headers = fields
        request.unixPeerObjection = { SocketOwner.objection(to: $0, at: socket) }
        return request
    }
}
