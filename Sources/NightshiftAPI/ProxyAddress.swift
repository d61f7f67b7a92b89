/// A proxy's URL, `scheme://name:password@host:port`, in its parts.
package struct ProxyAddress: Hashable, Sendable {
    /// With its `://`; empty where there is none.
    package let scheme: Substring
    /// The user name and password, without the `@`; nil where there are none.
    package let userinfo: Substring?
    /// Host and port, and what may follow.
    package let host: Substring

    /// The host begins behind the last `@`: names and passwords may hold one that nobody has encoded.
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

    /// The URL without user name and password: what is the same for all who use the proxy.
    package var url: String { "\(scheme)\(host)" }

    /// The URL with something in the place of user name and password.
    package func url(userinfo: String) -> String { "\(scheme)\(userinfo)@\(host)" }
}
