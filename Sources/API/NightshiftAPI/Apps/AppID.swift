/// The id of an app: the desktop-file id of its entry, or the path of its program if it has no installed entry.
///
/// A desktop-file id is the file name of the entry without `.desktop` (Desktop Entry Specification, "Desktop File ID").
/// A path begins with a slash, and a desktop-file id never does.
package struct AppID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
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

    /// Whether the id is the path of a program. The service can neither launch nor suspend such an app.
    package var isProgram: Bool { rawValue.hasPrefix("/") }

    package var description: String { rawValue }
}

extension SessionID {
    /// Creates the id of the session that an app calls `identifier`. The identifier is unique within the app, as with
    /// URLSession.
    package init(app: AppID, identifier: String) {
        // The id of a desktop entry contains neither `%` nor `:`. The path of a program may contain both, and the
        // escaped path must differ from that of any longer path.
        let owner = app.rawValue.replacing("%", with: "%25").replacing(":", with: "%3A")
        self.init(rawValue: "\(owner):\(identifier)")
    }
}
