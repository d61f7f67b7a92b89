import Foundation
package import NightshiftAPI
import NightshiftCurl

/// The local API over the service's socket: requests, answers, problems.
package struct ServiceClient: Sendable {
    private let locate: @Sendable () -> String
    /// Of every request beside its own.
    private var fields: [CurlField] = []
    /// Receives the parts of answers that were left out because this program cannot read them.
    package var onUnreadable: (@Sendable ([UnreadablePart]) -> Void)?

    /// One thread for all requests of this process; it starts with the first one.
    static let loop = CurlLoop()
    /// Seconds. The longest answer is a large batch on a slow disk.
    static let idleTimeout = 60.0
    /// Bytes of an answer: a thousand tasks, with all the header fields that their servers have sent.
    private static let answerLimit = 512 << 20

    /// A client of the service at a path.
    package init(socket: String) {
        locate = { socket }
    }

    /// A client of the service of a home, wherever it listens.
    package init(paths: ServicePaths) {
        let location = ServiceLocation(paths: paths)
        locate = { location.socket }
    }

    /// The path of the service's socket, as it is now.
    package var socket: String { locate() }

    /// The same, for requests that are meant for one stream of commands: refused once another one has taken its place.
    ///
    /// - Parameter channel: ``ProcessHello/channel``; nil from a service that names none.
    package func on(_ channel: String?) -> ServiceClient {
        var client = self
        client.fields = channel.map { [CurlField(name: ProcessHello.channelField, value: $0)] } ?? []
        return client
    }

    /// What the service answers. Throws ``Problem`` for a refusal, ``ServiceUnreachable`` without an answer and
    /// ``ServiceUnusable`` for one that cannot be understood.
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

    /// Gives `body` the bytes that the service keeps for a task, piece by piece, as fast as it takes them; it returns whether it
    /// wants more. Throws as ``send(_:)`` does, also where the bytes break off.
    package func content(of id: TaskID, _ body: ([UInt8]) throws -> Bool) async throws {
        let encoded = try Endpoint<Data>.content(of: id).encoded()
        do {
            // Without a timeout: whoever reads standard output may take their time.
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

    /// Connects when it is first asked for an event; its end is the connection's end.
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
