/// The reason why a desktop entry cannot be used, installed or removed. It is written for people, and names the line
/// and the key.
package struct EntryError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    /// The entry's file name, or the path that could not be read or written.
    package let file: String
    /// The line number, counted from 1; nil if the fault does not belong to one line.
    package let line: Int?
    package let key: String?
    package let message: String

    package enum Code: Sendable, Hashable, CaseIterable {
        /// The file is not a desktop entry.
        case syntax
        /// A value of the entry is invalid, or a required value is missing.
        case value
        /// The entry has `Hidden=true`, and so counts as deleted.
        case hidden
        /// The file's name cannot be an app id.
        case name
        case notFound
        /// The entry exists, but not in the user's own directory.
        case elsewhere
        case inputOutput
    }

    package init(_ code: Code, file: String, line: Int? = nil, key: String? = nil, _ message: String) {
        self.code = code
        self.file = file
        self.line = line
        self.key = key
        self.message = message
    }

    package var description: String {
        "\(file)\(line.map { ", line \($0)" } ?? ""): \(key.map { "\($0): " } ?? "")\(message)"
    }
}
