/// A proxy's URL, `scheme://name:password@host:port`, in its parts.
package struct ProxyAddress: Hashable, Sendable {
    /// With its `://`; empty where there is none.
    package let scheme: Substring
    /// The user name and password, without the `@`; nil where there are none.
    package let userinfo: Substring?
    /// Host and port, and what may follow.
    package let host: Substring

    /// The schemes that a proxy's URL may have, with their `://`.
    package static let schemes = ["http://", "https://", "socks5://", "socks5h://", "socks4://", "socks4a://"]

    /// The host begins after the last `@`: names and passwords may hold one that nobody has encoded.
    package init(_ url: String) {
        // A password may hold a `://`; a scheme holds neither `:` nor `@`.
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

    /// A sentence about why the URL cannot be a proxy's; nil where it can, and where it is empty, which forbids a proxy. Repeats nothing
    /// that may be a password.
    ///
    /// What this lets through is read by libcurl in the same way: a mistake is found when the task is accepted, not met again with
    /// each attempt.
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
        // A path after the port means nothing, and is common.
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

    /// The URL without user name and password: what is the same for all who use the proxy.
    package var url: String { "\(scheme)\(host)" }

    /// The URL with something in the place of user name and password.
    package func url(userinfo: String) -> String { "\(scheme)\(userinfo)@\(host)" }
}

extension ProxyAddress {
    /// A proxy as people and desktops write it, as the URL that the service takes.
    ///
    /// Without a scheme it speaks HTTP, as curl has it. `socks://` names no version: GNOME writes it into `all_proxy` for the SOCKS
    /// host of its settings, and its own programs begin with version 5 and let the proxy look up the names, as `socks5h://` says.
    /// curl takes it for version 4, which knows no IPv6 and leaves the names, and who is asked for them, to this machine.
    package static func spelled(_ text: String) -> String {
        if text.isEmpty { return text }
        let address = ProxyAddress(text)
        if address.scheme.isEmpty { return "http://" + text }
        return address.scheme.lowercased() == "socks://" ? "socks5h://" + text.dropFirst(address.scheme.count) : text
    }
}
