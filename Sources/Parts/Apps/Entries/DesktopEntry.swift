import NightshiftAPI

/// The text of a desktop entry, split into groups of keys with their line numbers.
///
/// The format is that of the Desktop Entry Specification 1.5, "Basic format of the file". Keys with a locale are
/// checked and then ignored.
struct DesktopEntry: Sendable {
    /// The name of the first group, which describes the app.
    static let mainGroup = "Desktop Entry"

    /// The name of the file, for error messages.
    let file: String
    private var groups: [String: [String: Value]] = [:]
    /// All keys without a locale, in the order of the file.
    private(set) var keys: [Key] = []

    /// A value of a key: the text after `=` with unresolved escapes, and its line number.
    struct Value: Hashable, Sendable {
        let text: String
        let line: Int
    }

    struct Key: Hashable, Sendable {
        let group: String
        let name: String
        let line: Int
    }

    init(parsing text: String, file: String) throws(EntryError) {
        self.file = file
        var group: String?
        var localized: Set<String> = []
        var number = 0
        for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let line = Self.trimmed(line)
            guard let first = line.utf8.first, first != UInt8(ascii: "#") else { continue }
            guard !line.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) else {
                throw EntryError(.syntax, file: file, line: number, "the line has a control character")
            }
            if first == UInt8(ascii: "[") {
                group = try beginGroup(line, at: number)
                localized = []
            } else {
                guard let group else {
                    throw EntryError(
                        .syntax, file: file, line: number, "there are keys before the group [\(Self.mainGroup)]")
                }
                try add(line, to: group, at: number, localized: &localized)
            }
        }
        guard groups[Self.mainGroup] != nil else {
            throw EntryError(.syntax, file: file, "the file has no group [\(Self.mainGroup)]")
        }
    }

    /// Returns the value of a key in the main group.
    subscript(key: String) -> Value? { groups[Self.mainGroup]?[key] }

    private mutating func beginGroup(_ line: String, at number: Int) throws(EntryError) -> String {
        let name = String(line.dropFirst().dropLast())
        guard line.utf8.last == UInt8(ascii: "]"), line.utf8.count > 2, !name.contains("["), !name.contains("]"),
            name.utf8.allSatisfy({ $0 < 0x80 })
        else {
            throw EntryError(.syntax, file: file, line: number, "'\(line)' is not a group header")
        }
        guard groups[name] == nil else {
            throw EntryError(.syntax, file: file, line: number, "the group [\(name)] is repeated here")
        }
        guard !groups.isEmpty || name == Self.mainGroup else {
            throw EntryError(
                .syntax, file: file, line: number, "the first group must be [\(Self.mainGroup)], not [\(name)]")
        }
        groups[name] = [:]
        return name
    }

    private mutating func add(
        _ line: String, to group: String, at number: Int, localized: inout Set<String>
    ) throws(EntryError) {
        guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw EntryError(
                .syntax, file: file, line: number, "'\(line)' is not a key with a value, a group or a comment")
        }
        let full = Self.trimmed(line.utf8[..<equals])
        let (name, locale) = Self.parts(ofKey: full)
        guard !name.isEmpty, name.utf8.allSatisfy(Self.mayStandInKey), locale != "" else {
            throw EntryError(.syntax, file: file, line: number, "'\(full)' cannot be the name of a key")
        }
        guard locale == nil ? groups[group]?[name] == nil : localized.insert(full).inserted else {
            throw EntryError(.syntax, file: file, line: number, key: full, "this key is repeated here")
        }
        if locale != nil {
            let isOurs = name.lowercased().hasPrefix(AppManifest.keyPrefix.lowercased())
            guard !isOurs || AppManifest.localizedKeys.contains(name) else {
                throw EntryError(.value, file: file, line: number, key: full, "this key cannot have a locale")
            }
            return
        }
        let value = Self.trimmed(line.utf8[line.utf8.index(after: equals)...])
        groups[group]?[name] = Value(text: value, line: number)
        keys.append(Key(group: group, name: name, line: number))
    }

    /// Splits `Name[de]` into the key `Name` and the locale `de`. The locale is empty if the brackets are empty or not
    /// closed.
    private static func parts(ofKey key: String) -> (name: String, locale: String?) {
        guard let bracket = key.firstIndex(of: "[") else { return (key, nil) }
        let rest = key[key.index(after: bracket)...]
        let locale = rest.dropLast()
        let isClosed = rest.last == "]" && !locale.contains("[") && !locale.contains("]")
        return (String(key[..<bracket]), isClosed ? String(locale) : "")
    }

    private static func mayStandInKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Removes spaces and tabs at both ends, and the carriage return of files with Windows line ends.
    private static func trimmed(_ bytes: Substring.UTF8View) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0d }
        var rest = bytes.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(Substring(rest))
    }
}
