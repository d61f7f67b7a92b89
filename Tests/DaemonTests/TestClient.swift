import Foundation
import NightshiftAPI
import NightshiftClient
import NightshiftCurl

/// A client of the local API as any program could write it: JSON and events over the socket of the service.
struct TestClient: Sendable {
    let socket: String

    private static let loop = CurlLoop()

    func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try JSON.decode(type, from: try await send("GET", path))
    }

    func post<Answer: Decodable>(_ path: String, _ body: some Encodable, as type: Answer.Type) async throws -> Answer {
        try JSON.decode(type, from: try await send("POST", path, try JSON.encode(body)))
    }

    func patch<Answer: Decodable>(_ path: String, _ body: some Encodable, as type: Answer.Type) async throws -> Answer {
        try JSON.decode(type, from: try await send("PATCH", path, try JSON.encode(body)))
    }

    /// Returns the body of a successful response. Throws ``Problem`` for a refusal, and `CurlEnd` if there is no
    /// response.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        var request = request(method, path)
        if let body {
            request.headers.append(CurlField(name: "Content-Type", value: "application/json"))
            request.body = .bytes([UInt8](body))
        }
        let response = try await Self.loop.send(request)
        let answer = Data(response.body)
        guard response.head.status < 300 else { throw try JSON.decode(Problem.self, from: answer) }
        return answer
    }

    /// Returns the stream of all events, beginning with the first event.
    func events(_ path: String) async throws -> EventStream {
        var request = request("GET", path)
        request.headers.append(CurlField(name: "Last-Event-ID", value: "0"))
        return EventStream(stream: try await Self.loop.stream(request))
    }

    private func request(_ method: String, _ path: String) -> CurlRequest {
        var request = CurlRequest(unixSocket: socket, method: method, path: path)
        request.idleTimeout = 60
        return request
    }

    /// The events of one connection, which lasts as long as this value exists.
    struct EventStream {
        fileprivate let stream: CurlStream
        private var parser = ServerSentEventParser()
        /// The complete events that the reader has not received yet.
        private var waiting: ArraySlice<ServerSentEvent> = []

        fileprivate init(stream: CurlStream) {
            self.stream = stream
        }

        /// Returns the name of the next event; nil at the end of the stream. Throws `CurlEnd` if the connection breaks.
        mutating func next() async throws -> String? {
            while true {
                if let event = waiting.popFirst() { return event.name }
                guard let bytes = try await stream.next() else { return nil }
                waiting = parser.feed(bytes)[...]
            }
        }
    }
}
