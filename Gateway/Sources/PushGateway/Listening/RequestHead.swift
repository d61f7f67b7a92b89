import NIOHTTP1

extension HTTPRequestHead {
    /// Whether the request names its host as HTTP/1.1 demands: once (RFC 9112, section 3.2).
    var namesHost: Bool { version != .http1_1 || headers["host"].count == 1 }

    /// The path and the query, also of a request that names its server in its first line (RFC 9112, section 3.2.2).
    var path: String {
        guard let scheme = ["http://", "https://"].first(where: { uri.lowercased().hasPrefix($0) }) else { return uri }
        return uri.dropFirst(scheme.count).firstIndex(of: "/").map { String(uri[$0...]) } ?? "/"
    }
}
