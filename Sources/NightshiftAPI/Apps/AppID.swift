/// An app: the desktop-file id of its entry, or the path of its program where no entry is installed.
///
/// A desktop-file id is the entry's file name without `.desktop` (Desktop Entry Specification, "Desktop File ID") and
/// never begins with a slash; a path always does.
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

    /// Whether it names a program rather than an entry: the service can neither launch nor suspend it.
    package var isProgram: Bool { rawValue.hasPrefix("/") }

    package var description: String { rawValue }
}

extension SessionID {
    /// The session that an app calls `identifier`: unique within the app, as with URLSession.
    package init(app: AppID, identifier: String) {
        // Ids of entries have neither; the path of a program may, and must not be taken for another one with a longer name.
        let owner = app.rawValue.replacing("%", with: "%25").replacing(":", with: "%3A")
        self.init(rawValue: "\(owner):\(identifier)")
    }
}
