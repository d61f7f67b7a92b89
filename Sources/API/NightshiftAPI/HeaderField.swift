/// One HTTP header field. Its name is compared ignoring case (RFC 9110, section 5.1).
package struct HeaderField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the value may be shown to anybody and sent to any server.
    ///
    /// The function uses a list of known harmless fields, because services choose names for their keys freely
    /// (`PRIVATE-TOKEN`, `X-Client-Id`). Removing a harmless field from a request to another origin, or hiding it in a
    /// listing, is better than revealing a secret. `Referer`, `Location` and similar fields are not in the list because
    /// they contain URLs, which may contain secrets.
    package var isHarmless: Bool {
        Self.harmlessNames.contains(name.lowercased())
    }

    /// The field in the form that listings show: URLs are shortened, and any other value that may be a secret is
    /// hidden.
    package var shown: HeaderField {
        if isHarmless { return self }
        let holdsAddress = ["content-location", "location", "referer"].contains(name.lowercased())
        return HeaderField(name: name, value: holdsAddress ? Redaction.url(value) : Redaction.mask)
    }

    private static let harmlessNames: Set<String> = [
        // The first lines list preferences and conditions: RFC 9110, sections 12, 13 and 14, RFC 9111, RFC 9218, RFC
        // 9530.
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "pragma", "priority",
        "prefer", "dnt", "sec-gpc", "save-data", "user-agent", "range", "if-match", "if-none-match",
        "if-modified-since", "if-unmodified-since", "if-range", "want-content-digest", "want-repr-digest",
        "want-digest",
        "expect", "te",
        // These fields describe a body and its framing.
        "content-type", "content-length", "content-encoding", "content-language", "content-disposition",
        "content-range", "content-digest", "content-md5", "repr-digest", "digest", "transfer-encoding", "trailer",
        // These fields resume an upload. `Upload-Metadata` is missing because it holds arbitrary values of an app.
        "upload-complete", "upload-incomplete", "upload-length", "upload-offset", "upload-limit", "upload-expires",
        "upload-draft-interop-version", "tus-resumable", "tus-version", "tus-extension", "tus-max-size",
        // These fields contain metadata of responses.
        "accept-ranges", "age", "allow", "alt-svc", "connection", "date", "etag", "expires", "keep-alive",
        "last-modified", "preference-applied", "retry-after", "server", "strict-transport-security", "vary", "via",
    ]

    /// Whether the name suggests that the value is a secret. This is used for data that stays with its owner, where an
    /// unknown field does no harm.
    package var soundsSecret: Bool {
        let name = name.lowercased()
        return Self.secretWords.contains { name.contains($0) }
    }

    private static let secretWords = [
        "auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token",
    ]
}

extension [HeaderField] {
    /// Returns the first value of the field `name`, or nil.
    package func first(_ name: String) -> String? {
        let wanted = name.lowercased()
        return first { $0.name.lowercased() == wanted }?.value
    }

    /// Returns all values of the field `name`, in order.
    package func all(_ name: String) -> [String] {
        let wanted = name.lowercased()
        return filter { $0.name.lowercased() == wanted }.map(\.value)
    }
}
