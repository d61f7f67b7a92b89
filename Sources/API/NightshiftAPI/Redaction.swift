import Foundation

/// Functions that replace secrets in text that is shown or logged.
package enum Redaction {
    package static let mask = "***"

    /// Returns the URL of a proxy without user name and password.
    package static func proxy(_ url: String) -> String {
        let address = ProxyAddress(url)
        return address.userinfo == nil ? url : address.url(userinfo: mask)
    }

    /// Returns a URL for display. It has no user name and password, and `…` instead of a query that seems to contain a
    /// credential.
    ///
    /// Everybody who has a signed URL can read its resource while the URL is valid.
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

    /// Returns a query without its signature. The result identifies the resource, and stays the same when a signed URL
    /// is renewed.
    ///
    /// The result contains all parameters except those whose names suggest a credential. If a query has such a
    /// parameter, parameters for the expiry and the scope of a signature are removed as well. A value that looks random
    /// stays, because many resources have such names.
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
        /// The value, or the whole parameter if it has no name.
        var value: Substring
    }

    private static func parameters(of query: Substring) -> [Parameter] {
        query.split(whereSeparator: { $0 == "&" || $0 == ";" }).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = (parts[0].removingPercentEncoding ?? String(parts[0])).lowercased()
            return Parameter(text: pair, name: name, value: parts.count == 2 ? parts[1] : parts[0])
        }
    }

    /// Returns whether the name is used for a signature or token. Such names come from signed URLs of Amazon, Google,
    /// Azure and Alibaba, from Akamai, CloudFront and Cloudflare, and from OAuth (RFC 6750, section 2.3). Other
    /// services use the same names.
    private static func isSecret(name: String) -> Bool {
        secretNames.contains(name) || secretWords.contains { name.contains($0) }
    }

    /// Returns whether the name belongs to a condition of a signature, such as its expiry. Without a signature, a
    /// parameter with such a name may identify the resource.
    private static func isTerm(name: String) -> Bool { terms.contains(name) || name.contains("expir") }

    /// The names of conditions of a signature. The second line lists the names that Azure uses.
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

    /// Returns whether the value is long and often alternates between letters and digits, so that it was not typed by a
    /// person. Dates, versions and words alternate less often.
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
