/// A cookie as a server has set it (RFC 6265, sections 5.2 and 5.3).
///
/// Read byte by byte: the text is a server's, and Foundation's own parser on Linux traps at some of what a server may write.
package struct ReceivedCookie: Hashable, Sendable {
    package private(set) var name: String
    package private(set) var value: String
    /// The server that has set it.
    package private(set) var host: String
    /// The host, or a parent of it, that the server has named so that hosts below it get the cookie as well; without the dot
    /// before it. Nil where it has named none, and where the host is an address.
    package private(set) var domain: String?
    package private(set) var path: String
    package private(set) var isSecure = false
    package private(set) var isHTTPOnly = false
    /// Seconds from when it came.
    private var maximumAge: Int64?
    /// Seconds since 1970.
    private var expires: Double?

    /// Nil for what is no cookie, and for one that `origin` may not set.
    ///
    /// - Parameter text: the value of one `Set-Cookie` field.
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
                // Somebody else's: refused, as everywhere.
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

    /// Whether the server has taken the cookie back.
    ///
    /// - Parameter date: the server's own time, in seconds since 1970; without it a date was over that was before any server.
    package func isTakenBack(at date: Double?) -> Bool {
        if let maximumAge { return maximumAge <= 0 }
        return expires.map { $0 <= date ?? 946_684_800 } ?? false
    }

    /// When it is over, in seconds since 1970; nil for one that lasts as long as the app runs.
    package func end(now: Double) -> Double? {
        guard let maximumAge else { return expires }
        return maximumAge > 0 ? now + min(Double(maximumAge), Limits.longestTimeout) : 0
    }

    /// Whether a cookie of the right host may go to `target` (RFC 6265, section 5.4).
    package static func mayGo(to target: TransferURL, path: String, isSecure: Bool) -> Bool {
        guard target.isSecure || !isSecure else { return false }
        let asked = target.path
        return asked == path || asked.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }

    /// The directory of the URL's path (section 5.1.4).
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

    /// What stands before and behind the first `=`.
    private static func halves(of text: String) -> (name: String, value: String?) {
        let halves = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self).trimmedOfBlanks
        }
        return (halves.first ?? "", halves.dropFirst().first)
    }
}

extension SetCookie {
    /// The fields in what FoundationNetworking has joined by commas: one begins where a name and `=` follow, as in no date.
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
    /// Whether a name and `=` come first.
    fileprivate var beginsCookie: Bool {
        guard let equals = utf8.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let name = String(decoding: utf8[..<equals], as: UTF8.self).trimmedOfBlanks
        return !name.isEmpty && !name.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: ";") }
    }
}
