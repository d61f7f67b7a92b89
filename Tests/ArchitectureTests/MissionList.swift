/// The rows of the mission as `docs/mission.md` lists them.
struct MissionList {
    struct Row: Equatable {
        /// The row's name, such as `T4`.
        var name: String
        var statement = ""
        /// `Target/Suite` of every suite that covers the row.
        var suites: [String] = []
        var isOpen = false
    }

    var rows: [Row] = []

    /// Reads every third-level heading as a row. Its text is the statement. Items of the list below it name suites
    /// after their target. A line that starts with `Open` says that the row is not implemented.
    init(markdown: String) {
        var target = ""
        var isInRow = false
        for line in markdown.split(separator: "\n") {
            if line.hasPrefix("#") {
                isInRow = line.hasPrefix("### ")
                if isInRow { rows.append(Row(name: String(line.dropFirst(4)))) }
            } else if isInRow, let last = rows.indices.last {
                if let item = line.firstMatch(of: /^- `(\w+)`: (.*)/) {
                    target = String(item.output.1)
                    rows[last].suites += Self.names(in: item.output.2).map { "\(target)/\($0)" }
                } else if line.hasPrefix("  `") {
                    rows[last].suites += Self.names(in: line).map { "\(target)/\($0)" }
                } else if line.hasPrefix("Open") {
                    rows[last].isOpen = true
                } else {
                    rows[last].statement += rows[last].statement.isEmpty ? String(line) : " \(line)"
                }
            }
        }
    }

    /// Returns the suites that mention each row, for `tests` given by path and text.
    static func suites(of tests: [(path: String, text: String)]) -> [String: Set<String>] {
        var suites: [String: Set<String>] = [:]
        for (path, text) in tests where text.contains("@Test") {
            for row in mentioned(in: text) { suites[row, default: []].insert(suite(at: path)) }
        }
        return suites
    }

    /// Returns the rows mentioned anywhere in a file, such as in test names and comments: a letter and a number as a
    /// separate word.
    static func mentioned(in text: String) -> Set<String> {
        // The search works on bytes because the tests have two megabytes of text.
        let words = text.utf8.split { byte in
            !(isLetter(byte) || isDigit(byte) || "_/.%-".utf8.contains(byte))
        }
        return Set(
            words.compactMap { word in
                var word = word
                while let last = word.last, ".-/".utf8.contains(last) { word.removeLast() }
                guard (2...3).contains(word.count), let first = word.first, "TLRB".utf8.contains(first),
                    word.dropFirst().allSatisfy(isDigit)
                else { return nil }
                return String(word)
            })
    }

    /// Returns whether the byte belongs to a letter of any language. No byte beyond ASCII separates words.
    private static func isLetter(_ byte: UInt8) -> Bool {
        byte >= 0x80 || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Returns `Target/Suite` of a file below `Tests`. A module has no two files of the same name.
    static func suite(at path: String) -> String {
        let parts = path.split(separator: "/")
        return "\(parts.dropFirst().first ?? "")/\(parts.last?.replacing(".swift", with: "") ?? "")"
    }

    private static func names(in text: Substring) -> [String] {
        text.matches(of: /`(\w+)`/).map { String($0.output.1) }
    }
}
