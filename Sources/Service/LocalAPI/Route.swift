import HTTPTypes
import Hummingbird
import Operations

/// One operation of the API.
struct Route: Sendable {
    var method: HTTPRequest.Method
    /// The path in OpenAPI syntax: `/v1/tasks/{id}`.
    var path: String
    /// The allowed query parameters. Other parameters are refused.
    var query: Set<String>
    var handle: @Sendable (Call) async throws -> Response

    init(
        _ method: HTTPRequest.Method, _ path: String, query: Set<String> = [],
        handle: @escaping @Sendable (Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.handle = handle
    }

    /// Creates a route for requests of a process about itself. The calling process is identified before the content of
    /// the request is read.
    init(
        process method: HTTPRequest.Method, _ path: String, query: Set<String> = [],
        handle: @escaping @Sendable (Call, CallingProcess) async throws -> Response
    ) {
        self.init(method, path, query: query) { call in try await handle(call, call.process()) }
    }

    /// Returns whether the path of a request matches this route, for any method.
    func matches(_ requested: String) -> Bool {
        let template = path.split(separator: "/")
        let parts = requested.split(separator: "/")
        return template.count == parts.count
            && zip(template, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
}
