/// A document in mdoc(7). Text that looks like markup is escaped.
struct MdocText {
    private(set) var text = ""

    private static let widest = 78

    mutating func macro(_ name: String, _ arguments: String...) {
        line("." + ([name] + arguments.filter { !$0.isEmpty }.map(Self.escaped)).joined(separator: " "))
    }

    /// Appends text. Each sentence begins on a new line, as mdoc(7) requires.
    mutating func prose(_ text: String) {
        for sentence in text.replacing(/([.!?])\ +(?=[A-Z'(])/, with: { "\($0.output.1)\n" }).split(separator: "\n") {
            var line = ""
            for word in sentence.split(separator: " ").map({ Self.escapedWord(String($0)) }) {
                if !line.isEmpty, line.count + 1 + word.count > Self.widest {
                    self.line(Self.guarded(line))
                    line = ""
                }
                line += (line.isEmpty ? "" : " ") + word
            }
            if !line.isEmpty { self.line(Self.guarded(line)) }
        }
    }

    /// Appends a command in the form in which a user types it.
    mutating func literalLine(_ text: String) {
        line(".Dl " + Self.escaped(text))
    }

    /// Appends the discussion of a command. Lists and examples become literal text.
    ///
    /// - Parameter isFollowing: whether other text comes before the discussion.
    mutating func paragraphs(_ discussion: String, isFollowing: Bool = false) {
        var isFollowing = isFollowing
        for paragraph in discussion.split(separator: "\n\n") {
            var lines = paragraph.split(separator: "\n")[...]
            if isFollowing, lines.first?.first != " " { macro("Pp") }
            isFollowing = true
            while let first = lines.first {
                let isLiteral = first.hasPrefix("  ")
                let block = lines.prefix { $0.hasPrefix("  ") == isLiteral }
                lines = lines.dropFirst(block.count)
                if isLiteral {
                    line(".Bd -literal -offset indent")
                    for text in block { line(Self.guarded(Self.escaped(String(text.dropFirst(2))))) }
                    line(".Ed")
                } else {
                    for text in block { prose(String(text)) }
                }
            }
        }
    }

    /// Appends a list of arguments and options, under the headings of the help.
    mutating func options(_ arguments: [ProgramHelp.Argument]) {
        var sections: [String?] = []
        for argument in arguments where !sections.contains(argument.sectionTitle) {
            sections.append(argument.sectionTitle)
        }
        for section in sections {
            if let section {
                macro("Pp")
                prose(section + ":")
            }
            line(".Bl -tag -width Ds")
            for argument in arguments where argument.sectionTitle == section { item(argument) }
            line(".El")
        }
    }

    private mutating func item(_ argument: ProgramHelp.Argument) {
        let value = Self.escaped(argument.valueName ?? "value")
        switch argument.kind {
        case .positional:
            line(".It Ar \(value)" + (argument.isRepeating ? " ..." : ""))
        case .option, .flag:
            let names = (argument.names ?? []).map { name in
                "Fl " + Self.escaped(name.kind == .long ? "-" + name.name : name.name)
            }
            line(".It " + names.joined(separator: " , ") + (argument.kind == .option ? " Ar \(value)" : ""))
        }
        prose([argument.abstract, argument.discussion].compactMap { $0 }.joined(separator: " "))
        if let value = argument.defaultValue { prose("The default is \(value).") }
    }

    private mutating func line(_ text: String) {
        self.text += text + "\n"
    }

    /// Escapes backslashes, and hyphens so that commands can be copied.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }

    /// Escapes a word. A hyphen in an option or a path is escaped. A hyphen between two words is not.
    private static func escapedWord(_ word: String) -> String {
        let bare = word.drop { "'([\"".contains($0) }
        let isTyped = bare.hasPrefix("-") || bare.contains { "/_=:.".contains($0) && $0 != word.last }
        return isTyped ? escaped(word) : word.replacing("\\", with: "\\e")
    }

    /// Returns the line in a form that a formatter does not treat as a macro.
    private static func guarded(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}
