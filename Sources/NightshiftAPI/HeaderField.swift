/// One HTTP header field, its name compared without regard to case (RFC 9110, section 5.1).
package struct HeaderField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Fields whose values are secrets: they are sent, and never shown, logged or returned.
    package var isSecret: Bool {
        Self.secretNames.contains(name.lowercased())
    }

    private static let secretNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "x-amz-security-token",
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
