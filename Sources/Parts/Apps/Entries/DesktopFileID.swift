package import NightshiftAPI

/// Desktop-file ids as app ids (Desktop Entry Specification, "Desktop File ID").
extension AppID {
    static let entrySuffix = ".desktop"
    /// The largest length of a name in bytes. With its suffix, such a name still is a valid file name.
    static let longestName = 255 - entrySuffix.utf8.count

    /// Returns the reason why `name`, without its suffix, cannot be an app's id; nil if it can.
    ///
    /// A colon is refused because it separates the app from the identifier in the id of a session.
    package static func objection(toName name: String) -> String? {
        if name.isEmpty || name.hasPrefix(".") { return "an app's id cannot be empty or begin with a dot" }
        if name.utf8.count > longestName { return "an app's id has at most \(longestName) bytes" }
        if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            return "an app's id cannot contain control characters"
        }
        if let refused = name.first(where: { $0 == "/" || $0 == ":" }) {
            return "an app's id cannot contain '\(refused)'"
        }
        return nil
    }

    /// Returns the id of the entry at `path`, which is relative to a directory of entries. The folders in the path are
    /// joined with `-`.
    static func ofEntry(at path: some StringProtocol) -> AppID? {
        guard path.hasSuffix(entrySuffix) else { return nil }
        let name = path.dropLast(entrySuffix.count).split(separator: "/", omittingEmptySubsequences: false)
            .joined(separator: "-")
        return objection(toName: name) == nil ? AppID(rawValue: name) : nil
    }
}
