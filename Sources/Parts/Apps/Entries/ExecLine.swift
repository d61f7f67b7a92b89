/// The parsed command line of an `Exec` key (Desktop Entry Specification, "The Exec key").
///
/// No shell interprets the command line. Field codes are removed, because a launch by the service has no files or names
/// to insert for them.
struct ExecLine: Hashable, Sendable {
    /// The program and its arguments. The list is never empty.
    let words: [String]

    /// The reason why an `Exec` value is invalid, without the name of the key.
    struct Malformed: Error, Hashable {
        let message: String
    }

    init(parsing text: String) throws(Malformed) {
        var reader = Reader(rest: text.unicodeScalars[...])
        var words: [String] = []
        while let word = try reader.nextWord() {
            if let word = try Self.expanded(word) { words.append(word) }
        }
        guard let program = words.first, !program.isEmpty else {
            throw Malformed(message: "the command line names no program")
        }
        guard program.hasPrefix("/") || !program.contains("/") else {
            throw Malformed(message: "'\(program)' is neither an absolute path nor a name to search in PATH")
        }
        guard !program.contains("=") else { throw Malformed(message: "the name of a program cannot contain '='") }
        self.words = words
    }

    /// Returns the word without its field codes; nil if the word is a single field code.
    private static func expanded(_ word: Reader.Word) throws(Malformed) -> String? {
        var result = String.UnicodeScalarView()
        var hadCode = false
        var scalars = word.text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == "%" else {
                result.append(scalar)
                continue
            }
            switch scalars.next() {
            case "%": result.append("%")
            case "f", "F", "u", "U", "i", "c", "k": hadCode = true
            // These field codes are deprecated. The specification says that they are ignored.
            case "d", "D", "n", "N", "v", "m": hadCode = true
            case let code?:
                throw Malformed(message: "'%\(code)' is not a field code; write a percent sign itself as '%%'")
            case nil:
                throw Malformed(
                    message: "there is nothing after the last percent sign; write a percent sign itself as '%%'")
            }
        }
        return result.isEmpty && hadCode ? nil : String(result)
    }
}

/// A reader that splits a command line into words.
private struct Reader {
    var rest: Substring.UnicodeScalarView

    struct Word {
        let text: String
    }

    /// Characters that are allowed only in double quotes.
    private static let reserved = Set("\"'\\><~|&;$*?#()`\t\n\r".unicodeScalars)
    /// Characters that a backslash escapes within double quotes.
    private static let escapable = Set("\"`$\\".unicodeScalars)

    mutating func nextWord() throws(ExecLine.Malformed) -> Word? {
        while rest.first == " " { rest.removeFirst() }
        guard let first = rest.first else { return nil }
        return Word(text: first == "\"" ? try quoted() : try plain())
    }

    private mutating func plain() throws(ExecLine.Malformed) -> String {
        var word = String.UnicodeScalarView()
        while let scalar = rest.first, scalar != " " {
            guard !Self.reserved.contains(scalar) else {
                let name = scalar.value < 0x20 ? "a control character" : "'\(scalar)'"
                throw ExecLine.Malformed(message: "an argument with \(name) must be in double quotes as a whole")
            }
            word.append(scalar)
            rest.removeFirst()
        }
        return String(word)
    }

    private mutating func quoted() throws(ExecLine.Malformed) -> String {
        rest.removeFirst()
        var word = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                guard rest.isEmpty || rest.first == " " else {
                    throw ExecLine.Malformed(message: "there must be a space after the closing quote")
                }
                return String(word)
            case "\\":
                guard let next = rest.popFirst() else {
                    throw ExecLine.Malformed(message: "a double quote is not closed")
                }
                guard Self.escapable.contains(next) else {
                    throw ExecLine.Malformed(
                        message: "within quotes a backslash may be only before '\"', '`', '$' or '\\' "
                            + "(and is itself written twice in a desktop entry)")
                }
                word.append(next)
            case "`", "$":
                throw ExecLine.Malformed(
                    message: "within quotes write '\(scalar)' as '\\\\\(scalar)'; variables are not replaced")
            default: word.append(scalar)
            }
        }
        throw ExecLine.Malformed(message: "a double quote is not closed")
    }
}
