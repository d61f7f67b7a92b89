extension HeaderField {
    /// Whether the service sets this field itself, so that a request may not set it.
    ///
    /// Such a field belongs to the connection, to the framing of the message, or to a proxy (Apple: URLRequest,
    /// "Reserved HTTP headers"). `Accept-Encoding` is reserved because the service requests bytes in the form in which
    /// they are stored.
    package var isReserved: Bool {
        let name = name.lowercased()
        return Self.reserved.contains(name) || name.hasPrefix("proxy-")
    }

    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te",
        "trailer", "transfer-encoding", "upgrade", "www-authenticate",
    ]
}
