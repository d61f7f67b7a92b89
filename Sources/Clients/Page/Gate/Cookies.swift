import HTTPServing

/// The parsing and writing of cookies (RFC 6265), as far as the page needs them.
enum Cookies {
    /// Returns all values of the cookie `name` in all `Cookie` fields (section 4.2.1).
    static func values(of name: String, in fields: [String]) -> [String] {
        fields.flatMap { $0.split(separator: ";") }.compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, trimmed(parts[0]) == name else { return nil }
            return trimmed(parts[1])
        }
    }

    /// Returns a `Set-Cookie` field for a session cookie that scripts cannot read and other sites cannot send.
    static func setting(_ name: String, to secret: Secret) -> String {
        "\(name)=\(secret.text); Path=/; HttpOnly; SameSite=Strict"
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
