import Foundation

/// Functions that replace secrets in text that is shown or logged.
package enum Redaction {
    package static let mask = "***"

    /// The URL of a proxy without user name and password.
    package static func proxy(_ url: String) -> String {
        let address = ProxyAddress(url)
        return address.userinfo == nil ? url : address.url(userinfo: mask)
    }

    /// A URL for display: without user name and password, and with `…` instead of a query that seems to contain a
    /// credential.
    ///
    /// A signed URL gives access to its resource as long as it is valid, to anybody who has the URL.
    package static func url(_ url: String) -> String {
        let beforeFragment = url.prefix { $0 != "#" }
        let address = beforeFragment.prefix { $0 != "?" }
        let query = beforeFragment.dropFirst(address.count + 1)
        let shown = withoutUser(address)
        guard beforeFragment.count > address.count else { return shown }
        return looksSecret(query: query) ? "\(shown)?…" : "\(shown)?\(query)"
    }

    private static func withoutUser(_ address: Substring) -> String {
        guard let scheme = address.range(of: "://") else { return String(address) }
        let rest = address[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "\\" }
        guard let at = authority.lastIndex(of: "@") else { return String(address) }
        return "\(address[..<scheme.upperBound])\(rest[rest.index(after: at)...])"
    }

    /// A query without its signature. The result names the resource, and stays the same when a signed URL is renewed.
    ///
    /// The result contains all parameters except those whose names suggest a credential. If there is such a parameter,
    /// parameters for the expiry and the scope of a signature are removed as well. A value that looks random stays,
    /// because many resources have such names.
    package static func unsigned(query: String) -> String {
        let parameters = parameters(of: query[...])
        let isSigned = parameters.contains { isSecret(name: $0.name) }
        return parameters.filter { !isSecret(name: $0.name) && !(isSigned && isTerm(name: $0.name)) }
            .map { String($0.text) }.joined(separator: "&")
    }

    private static func looksSecret(query: Substring) -> Bool {
        parameters(of: query).contains { isSecret(name: $0.name) || looksRandom($0.value) }
    }

    private struct Parameter {
        /// The parameter as written in the query.
        var text: Substring
        /// The decoded name in lower case.
        var name: String
        /// The value; the whole parameter if there is no name.
        var value: Substring
    }

    private static func parameters(of query: Substring) -> [Parameter] {
        query.split(whereSeparator: { $0 == "&" || $0 == ";" }).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = (parts[0].removingPercentEncoding ?? String(parts[0])).lowercased()
            return Parameter(text: pair, name: name, value: parts.count == 2 ? parts[1] : parts[0])
        }
    }

    /// Whether the name is used for a signature or token: by signed URLs of Amazon, Google, Azure and Alibaba, by
    /// Akamai, CloudFront and Cloudflare, by OAuth (RFC 6750, section 2.3), or by others under the same names.
    private static func isSecret(name: String) -> Bool {
        secretNames.contains(name) || secretWords.contains { name.contains($0) }
    }

    /// Whether the name is used for a term of a signature, such as its expiry. Without a signature, such a parameter
    /// may name the resource.
    private static func isTerm(name: String) -> Bool { terms.contains(name) || name.contains("expir") }

    /// The second line lists the names that Azure uses.
    private static let terms: Set<String> = [
        "exp", "ts", "timestamp", "validfrom", "validto", "valid_from", "valid_until",
        "se", "st", "sv", "sr", "sp", "spr", "sip", "ss", "srt", "ske", "skt", "sks", "skv", "skoid", "sktid",
    ]

    private static let secretNames: Set<String> = [
        "sig", "sign", "policy", "key", "auth", "hdnts", "hdnea", "code", "jwt", "pass", "pwd", "sid", "verify",
        "auth_key", "authkey", "googleaccessid",
    ]

    private static let secretWords = [
        "signature", "token", "hmac", "secret", "password", "passwd", "credential", "oauth", "authoriz", "apikey",
        "api-key", "api_key", "accesskey", "access-key", "access_key", "key-pair", "session", "x-amz-", "x-goog-",
        "x-oss-", "hash", "md5", "sha256", "nonce", "ticket",
    ]

    /// Whether the value is long and alternates between letters and digits, which nobody types. Dates, versions and
    /// words alternate less often.
    private static func looksRandom(_ value: Substring) -> Bool {
        let bytes = (value.removingPercentEncoding ?? String(value)).utf8
        guard bytes.count >= 20 else { return false }
        var changes = 0
        var last: Bool?
        for byte in bytes {
            let isDigit: Bool
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): isDigit = true
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): isDigit = false
            default: continue
            }
            if let last, last != isDigit { changes += 1 }
            last = isDigit
        }
        return changes >= 4
    }
}
