/// The parts of the URL of a proxy, `scheme://name:password@host:port`.
package struct ProxyAddress: Hashable, Sendable {
    /// The scheme with its `://`; empty if the URL has no scheme.
    package let scheme: Substring
    /// The user name and password, without the `@`; nil if there are none.
    package let userinfo: Substring?
    /// The host and port, and anything that follows.
    package let host: Substring

    /// The schemes that the URL of a proxy may have, with their `://`.
    package static let schemes = ["http://", "https://", "socks5://", "socks5h://", "socks4://", "socks4a://"]

    /// Splits a URL into its parts. The host begins after the last `@`, because names and passwords may contain an
    /// unencoded `@`.
    package init(_ url: String) {
        // A password may contain `://`. A scheme contains neither `:` nor `@`.
        let name = url.prefix { $0 != ":" && $0 != "@" }
        let separator = "://"
        let hasScheme = url[name.endIndex...].hasPrefix(separator)
        let authority = hasScheme ? url[name.endIndex...].dropFirst(separator.count) : url[...]
        scheme = url[..<authority.startIndex]
        if let at = authority.lastIndex(of: "@") {
            userinfo = authority[..<at]
            host = authority[authority.index(after: at)...]
        } else {
            userinfo = nil
            host = authority
        }
    }

    /// Returns a message that explains why the URL is not a valid proxy; nil if it is valid. An empty URL is valid and
    /// means that no proxy may be used. The message contains nothing that may be a password.
    ///
    /// libcurl accepts every URL that passes this check and reads it in the same way. A mistake is therefore found when
    /// the transfer is accepted, not at each attempt.
    package static func flaw(of url: String) -> String? {
        guard !url.isEmpty else { return nil }
        let address = ProxyAddress(url)
        guard schemes.contains(address.scheme.lowercased()), url.utf8.count <= Limits.urlLength,
            !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f })
        else {
            return "The proxy must be a URL that begins with one of \(schemes.joined(separator: ", "))."
        }
        if let userinfo = address.userinfo {
            let encoded: KeyValuePairs<UInt8, String> = [
                UInt8(ascii: "@"): "%40", UInt8(ascii: "/"): "%2F", UInt8(ascii: "?"): "%3F", UInt8(ascii: "#"): "%23",
            ]
            if let (byte, code) = encoded.first(where: { userinfo.utf8.contains($0.key) }) {
                return "The user name or password of the proxy contains '\(Unicode.Scalar(byte))'. Write it as \(code)."
            }
        }
        guard address.host.utf8.allSatisfy({ $0 < 0x80 }) else { return "The host name of the proxy must be ASCII." }
        // A path after the port has no effect, and is common.
        let authority = Array(address.host.utf8.prefix { !"/?#".utf8.contains($0) })[...]
        do {
            let (host, port) = try URLHost.split(authority)
            _ = try URLHost.parse(host)
            _ = try URLHost.port(port)
            return nil
        } catch {
            return "The proxy has no valid host or port. Use a form such as http://proxy.example:3128."
        }
    }

    /// The URL without user name and password. It is the same for all users of the proxy.
    package var url: String { "\(scheme)\(host)" }

    /// Returns the URL with `userinfo` instead of the user name and password.
    package func url(userinfo: String) -> String { "\(scheme)\(userinfo)@\(host)" }
}

extension ProxyAddress {
    /// Converts a proxy in the form that people and desktops use into a URL that the service accepts.
    ///
    /// A proxy without a scheme uses HTTP, as in curl. The scheme `socks://` names no version. GNOME writes it into
    /// `all_proxy` for the SOCKS host of its settings. GNOME's own programs start with version 5 and let the proxy
    /// resolve names, which is the meaning of `socks5h://`. curl reads it as version 4, which does not support IPv6 and
    /// resolves names on this machine, so that its DNS server sees the names.
    package static func spelled(_ text: String) -> String {
        if text.isEmpty { return text }
        let address = ProxyAddress(text)
        if address.scheme.isEmpty { return "http://" + text }
        return address.scheme.lowercased() == "socks://" ? "socks5h://" + text.dropFirst(address.scheme.count) : text
    }
}
