import HTTPTypes
import Hummingbird

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

    /// Returns whether the path of a request matches this route, for any method.
    func matches(_ requested: String) -> Bool {
        let template = path.split(separator: "/")
        let parts = requested.split(separator: "/")
        return template.count == parts.count
            && zip(template, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }
}
