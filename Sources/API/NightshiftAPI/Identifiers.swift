/// The id of a transfer. It is unique in one service, because ids are never reused.
package struct TaskID: RawRepresentable, Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    package static func < (left: TaskID, right: TaskID) -> Bool {
        left.rawValue < right.rawValue
    }

    package var description: String { String(rawValue) }
}

/// The identifier of a session, chosen by its client: not empty, and at most ``Limits/sessionIdentifierLength`` bytes.
package struct SessionID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The default session, for transfers that name no session, such as those started at a terminal.
    package static let terminal = SessionID(rawValue: "terminal")

    package var description: String { rawValue }
}
