import NightshiftAPI

/// Filters the header fields that a caller gives a request.
package enum RequestFields {
    /// Those that go out.
    ///
    /// Fields that belong to the connection, to the message's framing or to a proxy are left out, as URLSession reserves them
    /// (Apple: URLRequest, "Reserved HTTP headers"): the service sets them as the exchange needs them, and bytes are asked for as they
    /// are stored.
    static func kept(_ fields: [HeaderField]) -> [HeaderField] {
        fields.filter { !$0.isReserved }
    }

    /// Fields by which a request asks for a part, or on a condition (RFC 9110, sections 13 and 14).
    fileprivate static let conditional: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
    ]
}

extension TaskRequest {
    /// Whether it has a range or a condition of its own: one exchange, whose answer is its owner's business. Nothing is continued
    /// then, which would need such fields too.
    var asksConditionally: Bool {
        headers?.contains { RequestFields.conditional.contains($0.name.lowercased()) } ?? false
    }
}
