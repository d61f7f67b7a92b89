/// A cookie set by a server (RFC 6265, sections 5.2 and 5.3).
///
/// The project parses it byte by byte, because the text comes from a server, and Foundation's own parser on Linux traps
/// for some texts.
package struct ReceivedCookie: Hashable, Sendable {
    package private(set) var name: String
    package private(set) var value: String
    /// The server that set the cookie.
    package private(set) var host: String
    /// The host, or a parent domain, that the server named so that its subdomains receive the cookie as well. It has no
    /// leading dot. It is nil if the server named no domain, or if the host is an address.
    package private(set) var domain: String?
    package private(set) var path: String
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    /// The lifetime in seconds after the cookie was received.
    private var maximumAge: Int64?
    /// The expiry time in seconds since 1970.
    private var expires: Double?

    /// Parses a cookie. Returns nil if the text is not a cookie, or if `origin` may not set it.
    ///
    /// - Parameter text: The value of one `Set-Cookie` field.
    package init?(parsing text: String, from origin: TransferURL) {
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        let parts = Self.parts(of: text, at: ";")
        guard let pair = parts.first.map({ Self.halves(of: $0) }), let value = pair.value, !pair.name.isEmpty else {
            return nil
        }
        name = pair.name
        self.value = value
        host = origin.host
        path = Self.defaultPath(origin)
        for part in parts.dropFirst() {
            let attribute = Self.halves(of: part)
            let value = attribute.value ?? ""
            switch attribute.name.lowercased() {
            case "domain":
                let named = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
                guard !named.isEmpty else { continue }
                // A cookie for a foreign domain is refused, as in browsers.
                guard host == named || host.hasSuffix(".\(named)") else { return nil }
                domain = Self.isAddress(host) ? nil : named
            case "path": if value.hasPrefix("/") { path = value }
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "max-age": if let seconds = Int64(value) { maximumAge = seconds }
            case "expires": if let end = HTTPDate.parse(value) { expires = end }
            default: break
            }
        }
        let wantsSecrecy = isSecure || ["__secure-", "__host-"].contains { name.lowercased().hasPrefix($0) }
        guard origin.isSecure || !wantsSecrecy else { return nil }
    }

    /// Returns whether the server deleted the cookie.
    ///
    /// - Parameter date: The time at the server, in seconds since 1970. If it is nil, only an expiry date up to the
    ///   year 2000 counts as deletion.
    package func isTakenBack(at date: Double?) -> Bool {
        if let maximumAge { return maximumAge <= 0 }
        return expires.map { $0 <= date ?? 946_684_800 } ?? false
    }

    /// Returns the expiry time in seconds since 1970; nil for a cookie that lasts as long as the app runs.
    package func end(now: Double) -> Double? {
        guard let maximumAge else { return expires }
        return maximumAge > 0 ? now + min(Double(maximumAge), Limits.longestTimeout) : 0
    }

    /// Returns whether a cookie for a matching host may be sent to `target` (RFC 6265, section 5.4).
    package static func mayGo(to target: TransferURL, path: String, isSecure: Bool) -> Bool {
        guard target.isSecure || !isSecure else { return false }
        let asked = target.path
        return asked == path || asked.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }

    /// Returns the directory of the URL's path (section 5.1.4).
    private static func defaultPath(_ origin: TransferURL) -> String {
        let path = origin.path
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func isAddress(_ host: String) -> Bool {
        host.hasPrefix("[") || host.allSatisfy { $0.isNumber || $0 == "." }
    }

    private static func parts(of text: String, at separator: Unicode.Scalar) -> [String] {
        text.utf8.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self).trimmedOfBlanks
        }
    }

    /// Returns the parts before and after the first `=`.
    private static func halves(of text: String) -> (name: String, value: String?) {
        let halves = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self).trimmedOfBlanks
        }
        return (halves.first ?? "", halves.dropFirst().first)
    }
}

extension SetCookie {
    /// Splits fields that FoundationNetworking joined by commas. A comma separates two fields if a name and `=` follow
    /// it. This is not the case for a comma in a date.
    package static func fields(joined text: String) -> [String] {
        var fields: [String] = []
        for part in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let piece = String(decoding: part, as: UTF8.self)
            if fields.isEmpty || piece.beginsCookie {
                fields.append(piece)
            } else {
                fields[fields.count - 1] += ",\(piece)"
            }
        }
        return fields.map(\.trimmedOfBlanks)
    }
}

extension String {
    /// Whether the text begins with a name and `=`.
    fileprivate var beginsCookie: Bool {
        guard let equals = utf8.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let name = String(decoding: utf8[..<equals], as: UTF8.self).trimmedOfBlanks
        return !name.isEmpty && !name.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: ";") }
    }
}
