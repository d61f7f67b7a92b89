/// Tells whether a transfer stays on this machine, which needs no network and knows no kind of it.
package enum Loopback {
    /// - Parameter host: a name or an address, an IPv6 address in brackets; without a port.
    package static func contains(host: some StringProtocol) -> Bool {
        host == "localhost" || host.hasPrefix("127.") || host == "[::1]"
    }

    /// - Parameter origin: scheme, host and port, as `https://example.org:443`.
    package static func contains(origin: String) -> Bool {
        let authority = origin.drop { $0 != ":" }.dropFirst(3)
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        return contains(host: authority.prefix { $0 != ":" })
    }
}
