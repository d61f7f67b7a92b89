import NightshiftAPI

/// Filters for the header fields of a caller's request.
package enum RequestFields {
    /// Returns the fields that are sent.
    ///
    /// Fields that belong to the connection, to the message's framing or to a proxy are removed. URLSession reserves
    /// them as well (Apple: URLRequest, "Reserved HTTP headers"). The service sets them for each exchange, and requests
    /// bytes without a content coding.
    static func kept(_ fields: [HeaderField]) -> [HeaderField] {
        fields.filter { !$0.isReserved }
    }

    /// The fields of range requests and conditional requests (RFC 9110, sections 13 and 14).
    fileprivate static let conditional: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
    ]
}

extension TaskRequest {
    /// Whether the request has its own range or condition. The task is then one exchange whose response belongs to the
    /// owner. It is never continued, because a continuation would need the same fields.
    var asksConditionally: Bool {
        headers?.contains { RequestFields.conditional.contains($0.name.lowercased()) } ?? false
    }

    /// Whether the request has a user name and a password, or an `Authorization` field of its own.
    var hasLogin: Bool {
        credential != nil || headers?.contains { $0.name.lowercased() == "authorization" } ?? false
    }
}
