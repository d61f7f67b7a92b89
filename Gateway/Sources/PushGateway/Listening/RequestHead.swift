import NIOHTTP1

extension HTTPRequestHead {
    /// Whether the request has exactly one Host field, as HTTP/1.1 requires (RFC 9112, section 3.2).
    var namesHost: Bool { version != .http1_1 || headers["host"].count == 1 }

    /// The path and the query. The request line may have the absolute form (RFC 9112, section 3.2.2).
    var path: String {
        guard let scheme = ["http://", "https://"].first(where: { uri.lowercased().hasPrefix($0) }) else { return uri }
        return uri.dropFirst(scheme.count).firstIndex(of: "/").map { String(uri[$0...]) } ?? "/"
    }
}
