package import Foundation
import NightshiftAPI
import NightshiftCurl

/// The local API over the service's socket: requests, answers, problems.
package struct ServiceClient: Sendable {
    /// The path of the service's socket.
    package let socket: String
    /// Of every request beside its own.
    private var fields: [CurlField] = []

    /// One thread for all requests of this process; it starts with the first one.
    static let loop = CurlLoop()
    /// Seconds. The longest answer is a large batch on a slow disk.
    static let idleTimeout = 60.0

    package init(socket: String) {
        self.socket = socket
    }

    /// The same, for requests that are meant for one stream of commands: refused once another one has taken its place.
    ///
    /// - Parameter channel: ``ProcessHello/channel``; nil from a service that names none.
    package func on(_ channel: String?) -> ServiceClient {
        var client = self
        client.fields = channel.map { [CurlField(name: ProcessHello.channelField, value: $0)] } ?? []
        return client
    }

    package func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try decode(try await send("GET", path), as: type)
    }

    package func post<Answer: Decodable>(
        _ path: String, _ body: (some Encodable)?, as type: Answer.Type
    ) async throws -> Answer {
        try decode(try await send("POST", path, try body.map { try JSON.encode($0) }), as: type)
    }

    package func post<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try decode(try await send("POST", path), as: type)
    }

    package func patch<Answer: Decodable>(_ path: String, _ body: some Encodable, as type: Answer.Type) async throws
        -> Answer
    {
        try decode(try await send("PATCH", path, try JSON.encode(body)), as: type)
    }

    /// The body of a good answer. Throws ``Problem`` for a refusal and ``ServiceUnreachable`` without an answer.
    package func send(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        let request = exchange(method, path, body)
        let response: CurlResponse
        do {
            response = try await Self.loop.send(request)
        } catch {
            throw Self.failure(error)
        }
        let answer = Data(response.body)
        try Self.requireGood(response.head, answer)
        return answer
    }

    /// Connects when it is first asked for an event; its end is the connection's end.
    package func events(_ path: String, lastEventID: Int64) -> ServiceEvents {
        ServiceEvents(client: self, path: path, lastEventID: lastEventID)
    }

    func stream(_ path: String, lastEventID: Int64) async throws -> CurlStream {
        var request = self.request("GET", path)
        request.headers.append(CurlField(name: "Accept", value: "text/event-stream"))
        request.headers.append(CurlField(name: "Last-Event-ID", value: String(lastEventID)))
        do {
            let stream = try await Self.loop.stream(request)
            if stream.head.status == 200 { return stream }
            var body: [UInt8] = []
            while let bytes = try await stream.next(isolation: #isolation) { body += bytes }
            try Self.requireGood(stream.head, Data(body))
            throw ServiceUnreachable(message: "The service sends no events (HTTP \(stream.head.status)).")
        } catch let end as CurlEnd {
            throw Self.failure(end)
        }
    }

    func decode<Answer: Decodable>(_ data: Data, as type: Answer.Type) throws -> Answer {
        do {
            return try JSON.decode(type, from: data)
        } catch {
            throw ServiceUnusable(
                message:
                    "The service's answer cannot be understood; it may be of another version. See: nightshift doctor")
        }
    }

    static func requireGood(_ head: CurlHead, _ body: Data) throws {
        guard head.status >= 300 else { return }
        throw (try? JSON.decode(Problem.self, from: body))
            ?? Problem(
                type: "about:blank", title: "The service answered with HTTP status \(head.status)", status: head.status)
    }

    static func failure(_ end: CurlEnd) -> any Error {
        if end.wasCancelled { return CancellationError() }
        return ServiceUnreachable(message: "The service broke off or does not answer: \(end.message)")
    }

    func exchange(
        _ method: String, _ path: String, _ body: Data?, contentType: String = "application/json"
    ) -> CurlRequest {
        var request = self.request(method, path)
        request.idleTimeout = Self.idleTimeout
        if let body {
            request.headers.append(CurlField(name: "Content-Type", value: contentType))
            request.body = .bytes([UInt8](body))
        }
        return request
    }

    func request(_ method: String, _ path: String) -> CurlRequest {
        var request = CurlRequest(url: "http://localhost" + path, method: method)
        request.unixSocket = socket
        request.headers = fields
        request.unixPeerObjection = { [socket] in SocketOwner.objection(to: $0, at: socket) }
        // The caller's proxy is for the world outside.
        request.proxy = ""
        return request
    }
}
