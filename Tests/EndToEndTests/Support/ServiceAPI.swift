import Foundation
import NightshiftAPI
import NightshiftCurl

/// A client of the local API as any program could write it: JSON over the service's socket.
struct ServiceAPI: Sendable {
    let socket: String

    static let loop = CurlLoop()

    /// The error of a service that did not respond or broke off. It may or may not have executed the request.
    struct Unreachable: Error, CustomStringConvertible {
        let description: String
    }

    func get<Answer: Decodable>(_ path: String, as type: Answer.Type = Answer.self) async throws -> Answer {
        try JSON.decode(type, from: try await send("GET", path))
    }

    @discardableResult
    func post<Answer: Decodable>(
        _ path: String, _ body: (some Encodable)?, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try JSON.decode(type, from: try await send("POST", path, try body.map { try JSON.encode($0) }))
    }

    /// Returns the body of a successful response. Throws ``Problem`` for a refusal, and ``Unreachable`` without a
    /// response.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        var request = request(method, path)
        if let body {
            request.headers.append(CurlField(name: "Content-Type", value: "application/json"))
            request.body = .bytes([UInt8](body))
        }
        let response: CurlResponse
        do {
            response = try await Self.loop.send(request)
        } catch {
            throw Unreachable(description: "\(method) \(path): \(error.message)")
        }
        guard response.head.status < 300 else {
            throw (try? JSON.decode(Problem.self, from: Data(response.body)))
                ?? Unreachable(description: "\(method) \(path): HTTP \(response.head.status)")
        }
        return Data(response.body)
    }

    /// Returns the bytes of the event stream.
    func events(_ query: String = "") async throws -> CurlStream {
        do {
            return try await Self.loop.stream(request("GET", "/v1/events\(query)"))
        } catch {
            throw Unreachable(description: "GET /v1/events: \(error.message)")
        }
    }

    private func request(_ method: String, _ path: String) -> CurlRequest {
        var request = CurlRequest(unixSocket: socket, method: method, path: path)
        request.idleTimeout = 60
        return request
    }
}

extension ServiceAPI {
    func status() async throws -> ServiceStatus { try await get("/v1/status") }

    func task(_ id: TaskID) async throws -> TaskStatus { try await get("/v1/tasks/\(id)") }

    func why(_ id: TaskID) async throws -> Explanation { try await get("/v1/tasks/\(id)/why") }

    func enqueue(_ tasks: [TaskRequest], session: SessionID? = nil) async throws -> [TaskID] {
        try await post("/v1/tasks", EnqueueRequest(session: session, tasks: tasks), as: EnqueueResponse.self).ids
    }

    func enqueue(_ task: TaskRequest) async throws -> TaskID {
        guard let id = try await enqueue([task]).first else { throw Unreachable(description: "no id was given") }
        return id
    }

    func putSession(_ id: String, _ settings: SessionSettings) async throws {
        try await send("PUT", "/v1/sessions/\(id)", try JSON.encode(settings))
    }

    /// Returns all tasks, which it reads page by page.
    func tasks() async throws -> [TaskStatus] {
        var found: [TaskStatus] = []
        var next: TaskID?
        repeat {
            let page = try await get("/v1/tasks?limit=1000" + (next.map { "&after=\($0)" } ?? ""), as: TaskPage.self)
            found += page.tasks
            next = page.next
        } while next != nil
        return found
    }
}
