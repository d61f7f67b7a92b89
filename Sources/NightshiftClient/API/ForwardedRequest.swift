package import Foundation
package import NightshiftCurl

/// A request of the local API as somebody else has worded it, passed on as it is: what a front end on another way does.
///
/// Only what ``allowed`` lists is passed on. Processes of apps speak for themselves, and what stops the service, removes an
/// app or a session, or hands out files stays with programs of the user.
package struct ForwardedRequest: Hashable, Sendable {
    package var method: RequestMethod
    /// With its query; percent-encoded.
    package var path: String
    /// JSON, where there is one.
    package var body: Data?
    /// Of a stream of events that goes on.
    package var lastEventID: String?
    package let isStream: Bool

    /// Nil where such a request is not passed on.
    ///
    /// - Parameter path: as it came; percent-encoded, with its query.
    package init?(method: String, path: String) {
        guard let method = RequestMethod(rawValue: method), Self.isPlain(path) else { return nil }
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].hasPrefix(Self.prefix) else { return nil }
        let segments = parts[0].dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard segments.allSatisfy({ Self.isNoStep($0) }) else { return nil }
        guard let route = Self.allowed.first(where: { $0.method == method && $0.matches(segments) }) else { return nil }
        self.method = method
        isStream = route.path == "events"
        // A picture is asked for with when it was taken, so that a browser does not show the one before.
        self.path = route.ignoresQuery ? String(parts[0]) : path
    }

    private static let prefix = "/v1/"

    /// A path that means itself: printable ASCII without what ends a path or is written otherwise in one.
    private static func isPlain(_ path: String) -> Bool {
        path.utf8.count <= 8_192 && path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"\"#<>\\^`{|}".utf8.contains($0) }
    }

    /// Neither empty nor `.` nor `..`, which would lead to another path on the way.
    private static func isNoStep(_ segment: Substring) -> Bool {
        guard let text = String(segment).removingPercentEncoding else { return false }
        return !text.isEmpty && text != "." && text != ".."
    }

    /// One kind of request that is passed on.
    package struct Route: Hashable, Sendable {
        package let method: RequestMethod
        /// Below the API's version; `*` is any one segment.
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
        "tasks", "tasks/*/suspend", "tasks/*/resume", "tasks/*/cancel", "tasks/*/retry", "tasks/*/retarget", "actions", "retry",
        "apps/*/launch", "apps/*/activate", "apps/*/background", "apps/*/quit", "refresh/*/fetch",
        "device/doze",
    ]
}

extension ServiceClient {
    /// The whole answer to a request that is passed on, whatever its status. Throws ``ServiceUnreachable`` without one.
    package func forward(_ request: ForwardedRequest) async throws -> CurlResponse {
        do {
            return try await Self.loop.send(exchange(request))
        } catch {
            throw Self.failure(error)
        }
    }

    /// The same for a stream of events: as its head is there, with what follows as it comes.
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
