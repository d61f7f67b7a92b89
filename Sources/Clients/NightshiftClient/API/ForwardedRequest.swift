package import Foundation
package import NightshiftCurl

/// A request of the local API that another client wrote and that a front end forwards unchanged.
///
/// A front end forwards only the requests in ``allowed``. The processes of apps must connect to the service directly.
/// Only programs of the user may stop the service, remove an app or a session, or read files.
package struct ForwardedRequest: Hashable, Sendable {
    package var method: RequestMethod
    /// The percent-encoded path with its query.
    package var path: String
    /// The JSON body; nil if the request has no body.
    package var body: Data?
    /// The id after which an event stream continues.
    package var lastEventID: String?
    package let isStream: Bool

    /// Creates the request, or returns nil if such a request is not forwarded.
    ///
    /// - Parameter path: The path as received: percent-encoded, with its query.
    package init?(method: String, path: String) {
        guard let method = RequestMethod(rawValue: method), Self.isPlain(path) else { return nil }
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].hasPrefix(Self.prefix) else { return nil }
        let segments = parts[0].dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard segments.allSatisfy({ Self.isNoStep($0) }) else { return nil }
        guard let route = Self.allowed.first(where: { $0.method == method && $0.matches(segments) }) else { return nil }
        self.method = method
        isStream = route.path == "events"
        // The page adds the time of the picture to the query, so that browsers do not show an older picture.
        self.path = route.ignoresQuery ? String(parts[0]) : path
    }

    private static let prefix = "/v1/"

    /// Returns whether the path is in canonical form. It then consists of printable ASCII, and has no characters that
    /// end a path or that should be encoded differently.
    private static func isPlain(_ path: String) -> Bool {
        path.utf8.count <= 8_192 && path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"#<>\\^`{|}".utf8.contains($0) }
    }

    /// Returns whether the segment is a normal name. An empty segment, `.` and `..` would lead to a different path.
    private static func isNoStep(_ segment: Substring) -> Bool {
        guard let text = String(segment).removingPercentEncoding else { return false }
        return !text.isEmpty && text != "." && text != ".."
    }

    /// One kind of request that a front end forwards.
    package struct Route: Hashable, Sendable {
        package let method: RequestMethod
        /// The path below the API version. `*` matches any single segment.
        package let path: String
        fileprivate var ignoresQuery = false

        fileprivate func matches(_ segments: [Substring]) -> Bool {
            let pattern = path.split(separator: "/")
            return pattern.count == segments.count && zip(pattern, segments).allSatisfy { $0 == "*" || $0 == $1 }
        }
    }

    package static let allowed: [Route] =
        looks.map { Route(method: .get, path: $0) }
        + [Route(method: .get, path: "apps/*/snapshot", ignoresQuery: true)]
        + changes.map { Route(method: .post, path: $0) }
        + ["settings", "device", "tasks/*", "apps/*", "refresh/*"].map { Route(method: .patch, path: $0) }
        + [Route(method: .delete, path: "tasks/*")]

    private static let looks = [
        "status", "settings", "sessions", "tasks", "tasks/*", "tasks/*/why", "journal", "events", "apps", "apps/*",
        "apps/*/why", "apps/*/log", "refresh", "refresh/*", "push", "push/*", "location", "location/*", "device",
        "openapi.json",
    ]

    private static let changes = [
        "tasks", "tasks/*/suspend", "tasks/*/resume", "tasks/*/cancel", "tasks/*/retry", "tasks/*/retarget", "actions",
        "retry",
        "apps/*/launch", "apps/*/activate", "apps/*/background", "apps/*/quit", "refresh/*/fetch",
        "device/doze",
    ]
}

extension ServiceClient {
    /// Returns the whole response to a forwarded request, whatever its status. Throws ``ServiceUnreachable`` if there
    /// is no response.
    package func forward(_ request: ForwardedRequest) async throws -> CurlResponse {
        do {
            return try await Self.loop.send(exchange(request))
        } catch {
            throw Self.failure(error)
        }
    }

    /// Returns an event stream as soon as its head has arrived. The events follow later.
    package func forwardStream(_ request: ForwardedRequest) async throws -> CurlStream {
        var exchange = exchange(request)
        exchange.idleTimeout = nil
        exchange.headers.append(CurlField(name: "Accept", value: "text/event-stream"))
        if let id = request.lastEventID { exchange.headers.append(CurlField(name: "Last-Event-ID", value: id)) }
        do {
            return try await Self.loop.stream(exchange)
        } catch {
            throw Self.failure(error)
        }
    }

    private func exchange(_ request: ForwardedRequest) -> CurlRequest {
        exchange(EncodedRequest(method: request.method, path: request.path, body: request.body))
    }
}
