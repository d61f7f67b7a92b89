/// Why a desktop entry cannot be used, installed or removed: for a person, with the line and the key.
package struct EntryError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    /// The entry's file name, or the path of what could not be read or written.
    package let file: String
    /// From 1; nil where the fault is not in one line.
    package let line: Int?
    package let key: String?
    package let message: String

    package enum Code: Sendable, Hashable, CaseIterable {
        /// Not a desktop entry.
        case syntax
        /// A desktop entry that says something wrong, or lacks something.
        case value
        /// `Hidden=true`: the entry stands for its own absence.
        case hidden
        /// The file's name makes no app id.
        case name
        case notFound
        /// It is there, but not in the user's own directory.
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
