/// An absolute http or https URL, parsed and encoded as in browsers (WHATWG URL Standard).
///
/// - Spaces around the URL are removed, and backslashes become slashes.
/// - Dot segments are resolved.
/// - Characters that are not allowed in a URL are percent-encoded as UTF-8. Existing `%XX` is unchanged.
/// - Host names outside ASCII become punycode.
/// - A default port and the fragment are removed.
/// - The user name and password are moved to ``credential``.
package struct TransferURL: Hashable, Sendable {
    package private(set) var isSecure: Bool
    /// The host in lower case. An IPv6 address is in brackets.
    package private(set) var host: String
    /// The port, even if it is the default port of the scheme.
    package private(set) var port: Int
    /// The decoded user name and password before the `@`.
    package private(set) var credential: Credential?
    /// The encoded path. It is never empty.
    package private(set) var path: String
    /// The query without the question mark. An empty query differs from a missing one.
    private var query: String?

    /// Parses a URL.
    ///
    /// - Throws: ``TransferFailure/Code/badURL`` or ``TransferFailure/Code/unsupportedURL``. The message contains
    ///   nothing that may be a password.
    package init(parsing text: String) throws(TransferFailure) {
        let input = try Self.bytes(of: text)
        let (scheme, rest) = try Self.splitScheme(input)
        try self.init(secure: scheme == "https", afterScheme: rest)
    }

    /// Resolves a reference against `base` (RFC 3986, section 5), as for the `Location` field.
    package init(parsing text: String, relativeTo base: TransferURL) throws(TransferFailure) {
        let input = try Self.bytes(of: text)
        if Self.scheme(of: input) != nil {
            try self.init(parsing: text)
            return
        }
        let isSlash: (UInt8?) -> Bool = { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        if isSlash(input.first), isSlash(input.dropFirst().first) {
            try self.init(secure: base.isSecure, afterScheme: input)
            return
        }
        self = base
        credential = nil
        let reference = input.prefix { $0 != UInt8(ascii: "#") }
        let (referencePath, referenceQuery) = Self.splitQuery(reference)
        if referencePath.isEmpty {
            query = referenceQuery ?? base.query
        } else {
            let directory = isSlash(referencePath.first) ? "" : base.path.prefix(through: Self.lastSlash(base.path))
            path = Self.normalisedPath(Array(directory.utf8) + referencePath)
            query = referenceQuery
        }
        try checkLength()
    }

    private init(secure: Bool, afterScheme rest: ArraySlice<UInt8>) throws(TransferFailure) {
        let afterSlashes = rest.drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        let authority = afterSlashes.prefix {
            ![UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0)
        }
        let tail = afterSlashes[authority.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        isSecure = secure
        credential = try at.flatMap { (index) throws(TransferFailure) in try Self.credential(authority[..<index]) }
        let (hostText, portText) = try URLHost.split(authority[(at.map { $0 + 1 } ?? authority.startIndex)...])
        host = try URLHost.parse(hostText)
        port = try URLHost.port(portText) ?? (secure ? 443 : 80)
        let (pathText, queryText) = Self.splitQuery(tail)
        path = Self.normalisedPath(Array(pathText))
        query = queryText
        try checkLength()
    }

    /// The whole URL in the form that the transport receives.
    package var string: String {
        "\(scheme)://\(authority)\(path)\(query.map { "?\($0)" } ?? "")"
    }

    /// The scheme, host and port, such as `https://example.org:443`. The port is always included.
    package var origin: String { "\(scheme)://\(host):\(port)" }

    /// The name of a resource for comparing validators. It consists of the origin, the path and the query, because the
    /// query identifies the resource as well (RFC 9110, section 4.2.2). Signatures in the query are removed, because
    /// renewed links have different signatures.
    ///
    /// Unlike ``originAndPath``, it always contains a question mark.
    package var place: String { "\(originAndPath)?\(query.map(Redaction.unsigned) ?? "")" }

    package var originAndPath: String { "\(origin)\(path)" }

    /// Returns whether two URLs have the same scheme, host and port. An invalid URL has the same origin only as an
    /// identical string.
    package static func areOfOneOrigin(_ first: String, _ second: String) -> Bool {
        guard first != second else { return true }
        guard let first = try? TransferURL(parsing: first), let second = try? TransferURL(parsing: second) else {
            return false
        }
        return first.origin == second.origin
    }

    private var scheme: String { isSecure ? "https" : "http" }

    private var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
}

extension TransferURL {
    private static func bytes(of text: String) throws(TransferFailure) -> ArraySlice<UInt8> {
        try checkLength(text.utf8.count)
        // Browsers remove line breaks and tabs, which occur in URLs pasted from wrapped text.
        let bytes = text.utf8.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        let start = bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? start
        return bytes[start..<end]
    }

    private func checkLength() throws(TransferFailure) {
        try Self.checkLength(string.utf8.count)
    }

    private static func checkLength(_ length: Int) throws(TransferFailure) {
        guard length <= Limits.urlLength else {
            throw TransferFailure(.badURL, "The URL is \(length) bytes long. At most \(Limits.urlLength) are allowed.")
        }
    }

    /// Returns the scheme in lower case; nil if there is no scheme.
    private static func scheme(of input: ArraySlice<UInt8>) -> String? {
        guard let colon = input.firstIndex(of: UInt8(ascii: ":")), input.first?.isASCIILetter == true else {
            return nil
        }
        let name = input[..<colon]
        let marks: [UInt8] = [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")]
        guard name.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || marks.contains($0) }) else { return nil }
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private static func splitScheme(
        _ input: ArraySlice<UInt8>
    ) throws(TransferFailure) -> (scheme: String, rest: ArraySlice<UInt8>) {
        guard !input.isEmpty else { throw TransferFailure(.badURL, "The URL is empty.") }
        guard let scheme = scheme(of: input), let colon = input.firstIndex(of: UInt8(ascii: ":")) else {
            throw missingScheme(input)
        }
        let rest = input[(colon + 1)...]
        if scheme == "http" || scheme == "https" { return (scheme, rest) }
        // `example.org:8080/file` begins with a host and a port, not with a scheme.
        if rest.first?.isASCIIDigit == true, scheme.contains(".") || scheme == "localhost" {
            throw missingScheme(input)
        }
        throw TransferFailure(
            .unsupportedURL,
            "The scheme “\(scheme)” is not supported. Use a URL that begins with https:// or http://.")
    }

    private static func missingScheme(_ input: ArraySlice<UInt8>) -> TransferFailure {
        let text = String(Redaction.url(String(decoding: input, as: UTF8.self)).prefix(200))
        if input.contains(UInt8(ascii: "@")) {
            return TransferFailure(.badURL, "The URL has no scheme. Add https:// or http://.")
        }
        let bare = text.drop { $0 == "/" || $0 == "\\" }
        guard !bare.isEmpty, !text.hasPrefix("/") || text.hasPrefix("//") else {
            return TransferFailure(.badURL, "“\(text)” is not a URL. It must begin with https:// or http://.")
        }
        return TransferFailure(
            .badURL, "“\(text)” has no scheme. Did you mean https://\(bare)?")
    }

    private static func credential(_ userinfo: ArraySlice<UInt8>) throws(TransferFailure) -> Credential? {
        let name = userinfo.prefix { $0 != UInt8(ascii: ":") }
        let secret = userinfo[name.endIndex...].dropFirst()
        guard !name.isEmpty || !secret.isEmpty else { return nil }
        let decoded = [name, secret].map(PercentEncoding.decode)
        guard !decoded.joined().contains(0) else {
            throw TransferFailure(.badURL, "The user name or password in the URL contains a zero byte.")
        }
        guard let user = String(validating: decoded[0], as: UTF8.self),
            let password = String(validating: decoded[1], as: UTF8.self)
        else {
            throw TransferFailure(.badURL, "The user name or password in the URL is not valid UTF-8.")
        }
        return Credential(user: user, password: password)
    }

    private static func splitQuery(_ bytes: ArraySlice<UInt8>) -> (path: ArraySlice<UInt8>, query: String?) {
        let path = bytes.prefix { $0 != UInt8(ascii: "?") }
        guard path.endIndex < bytes.endIndex else { return (path, nil) }
        return (path, PercentEncoding.encode(bytes[(path.endIndex + 1)...], for: .query))
    }

    /// Returns the encoded path. It begins with a slash and has no dot segments (`.`, `..`, also written as `%2e`).
    private static func normalisedPath(_ bytes: [UInt8]) -> String {
        var segments = bytes.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\")
        }
        if segments.first?.isEmpty == true { segments.removeFirst() }
        var result: [String] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            let text = PercentEncoding.encode(segment, for: .path)
            let canBeDots = text.utf8.first == UInt8(ascii: ".") || text.utf8.first == UInt8(ascii: "%")
            switch canBeDots ? text.lowercased().replacing("%2e", with: ".") : text {
            case ".":
                if isLast { result.append("") }
            case "..":
                _ = result.popLast()
                if isLast { result.append("") }
            default:
                result.append(text)
            }
        }
        return "/" + result.joined(separator: "/")
    }

    private static func lastSlash(_ path: String) -> String.Index {
        path.lastIndex(of: "/") ?? path.startIndex
    }
}
