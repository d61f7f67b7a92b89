/// The check for transfers that stay on this machine. Such transfers need no network, and the kind of network does not
/// matter to them.
package enum Loopback {
    /// Returns whether the host is this machine.
    ///
    /// - Parameter host: a name or an address without a port; an IPv6 address is in brackets.
    package static func contains(host: some StringProtocol) -> Bool {
        host == "localhost" || host.hasPrefix("127.") || host == "[::1]"
    }

    /// Returns whether the host of the origin is this machine.
    ///
    /// - Parameter origin: scheme, host and port, such as `https://example.org:443`.
    package static func contains(origin: String) -> Bool {
        let authority = origin.drop { $0 != ":" }.dropFirst(3)
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        return contains(host: authority.prefix { $0 != ":" })
    }
}
