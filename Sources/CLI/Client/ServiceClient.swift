import Foundation
import NightshiftAPI
import NightshiftCurl

/// The service did not answer, or the connection broke off before it had.
struct ServiceUnreachable: Error, Sendable {
    var message: String
}

/// The local API over the service's socket: requests, answers, problems.
struct ServiceClient: Sendable {
    let socket: String

    /// One thread for all requests of this process; it starts with the first one.
    private static let loop = CurlLoop()
    /// Seconds. The longest answer is a large batch on a slow disk.
    private static let idleTimeout = 60.0

    func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try decode(try await send("GET", path), as: type)
    }

    func post<Answer: Decodable>(
        _ path: String, _ body: (some Encodable)?, as type: Answer.Type
    ) async throws -> Answer {
        try decode(try await send("POST", path, try body.map { try JSON.encode($0) }), as: type)
    }

    func post<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try decode(try await send("POST", path), as: type)
    }

    func patch<Answer: Decodable>(_ path: String, _ body: some Encodable, as type: Answer.Type) async throws -> Answer {
        try decode(try await send("PATCH", path, try JSON.encode(body)), as: type)
    }

    /// The body of a good answer. Throws ``Problem`` for a refusal and ``ServiceUnreachable`` without an answer.
    func send(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        var request = self.request(method, path)
        request.idleTimeout = Self.idleTimeout
        if let body {
            request.headers.append(CurlField(name: "Content-Type", value: "application/json"))
            request.body = .bytes([UInt8](body))
        }
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
    func events(_ path: String, lastEventID: Int64) -> ServiceEvents {
        ServiceEvents(client: self, path: path, lastEventID: lastEventID)
    }

    fileprivate func stream(_ path: String, lastEventID: Int64) async throws -> CurlStream {
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

    private func decode<Answer: Decodable>(_ data: Data, as type: Answer.Type) throws -> Answer {
        do {
            return try JSON.decode(type, from: data)
        } catch {
            throw CommandFailure.unreachable(
                "The service's answer cannot be understood; it may be of another version. See: nightshift doctor")
        }
    }

    private static func requireGood(_ head: CurlHead, _ body: Data) throws {
        guard head.status >= 300 else { return }
        throw (try? JSON.decode(Problem.self, from: body))
            ?? Problem(
                type: "about:blank", title: "The service answered with HTTP status \(head.status)", status: head.status)
    }

    fileprivate static func failure(_ end: CurlEnd) -> any Error {
        if end.wasCancelled { return CancellationError() }
        return ServiceUnreachable(message: "The service broke off or does not answer: \(end.message)")
    }

    private func request(_ method: String, _ path: String) -> CurlRequest {
        var request = CurlRequest(url: "http://localhost" + path, method: method)
        request.unixSocket = socket
        // The caller's proxy is for the world outside.
        request.proxy = ""
        return request
    }
}

/// The events of one connection, read as slowly as its reader likes.
struct ServiceEvents: AsyncSequence {
    typealias Element = ServiceEvent

    fileprivate let client: ServiceClient
    fileprivate let path: String
    fileprivate let lastEventID: Int64

    func makeAsyncIterator() -> Iterator { Iterator(events: self) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let events: ServiceEvents
        private var stream: CurlStream?
        private var parser = ServerSentEventParser()
        /// Complete events that were not taken yet, the next one last.
        private var waiting: [ServerSentEvent] = []

        fileprivate init(events: ServiceEvents) {
            self.events = events
        }

        mutating func next() async throws -> ServiceEvent? {
            try await next(isolation: #isolation)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServiceEvent? {
            while true {
                while let event = waiting.popLast() {
                    if let known = try event.serviceEvent() { return known }
                }
                guard let bytes = try await bytes(isolation: actor) else { return nil }
                waiting = parser.feed(bytes).reversed()
            }
        }

        private mutating func bytes(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            if stream == nil { stream = try await events.client.stream(events.path, lastEventID: events.lastEventID) }
            do {
                return try await stream?.next(isolation: actor)
            } catch {
                throw ServiceClient.failure(error)
            }
        }
    }
}
