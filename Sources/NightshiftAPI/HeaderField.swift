/// One HTTP header field, its name compared without regard to case (RFC 9110, section 5.1).
package struct HeaderField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Whether anybody may see the value and any server may have it.
    ///
    /// A list of what is known, because services name their keys as they like (`PRIVATE-TOKEN`, `X-Client-Id`): a field lost
    /// on the way to another origin, or hidden in a listing, costs less than a secret given away. `Referer`, `Location` and
    /// the like are missing because they hold addresses, which may hold secrets.
    package var isHarmless: Bool {
        Self.harmlessNames.contains(name.lowercased())
    }

    /// The field as it is listed: an address shortened, any other value that may be a secret hidden.
    package var shown: HeaderField {
        if isHarmless { return self }
        let holdsAddress = ["content-location", "location", "referer"].contains(name.lowercased())
        return HeaderField(name: name, value: holdsAddress ? Redaction.url(value) : Redaction.mask)
    }

    private static let harmlessNames: Set<String> = [
        // Preferences and conditions: RFC 9110, sections 12, 13 and 14, RFC 9111, RFC 9218, RFC 9530.
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "pragma", "priority",
        "prefer", "dnt", "sec-gpc", "save-data", "user-agent", "range", "if-match", "if-none-match",
        "if-modified-since", "if-unmodified-since", "if-range", "want-content-digest", "want-repr-digest",
        "want-digest",
        "expect", "te",
        // A body's description and its framing.
        "content-type", "content-length", "content-encoding", "content-language", "content-disposition",
        "content-range", "content-digest", "content-md5", "repr-digest", "digest", "transfer-encoding", "trailer",
        // How an upload is continued, but for `Upload-Metadata`, which holds what an app likes.
        "upload-complete", "upload-incomplete", "upload-length", "upload-offset", "upload-limit", "upload-expires",
        "upload-draft-interop-version", "tus-resumable", "tus-version", "tus-extension", "tus-max-size",
        // Metadata of responses.
        "accept-ranges", "age", "allow", "alt-svc", "connection", "date", "etag", "expires", "keep-alive",
        "last-modified", "preference-applied", "retry-after", "server", "strict-transport-security", "vary", "via",
    ]

    /// Whether the name says that the value is a secret: for what stays with its owner, where an unknown field does no harm.
    package var soundsSecret: Bool {
        let name = name.lowercased()
        return Self.secretWords.contains { name.contains($0) }
    }

    private static let secretWords = [
        "auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token",
    ]
}

extension [HeaderField] {
    /// The first value of the field `name`, or nil.
    package func first(_ name: String) -> String? {
        let wanted = name.lowercased()
        return first { $0.name.lowercased() == wanted }?.value
    }

    /// Every value of the field `name`, in order.
    package func all(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return filter { $0.name.lowercased() == wanted }.map(\.value)
    }
}
