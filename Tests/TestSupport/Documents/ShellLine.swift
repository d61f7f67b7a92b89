/// A line in the language of sh(1), as far as documents use it: its simple commands as lists of words.
package struct ShellLine: Sendable, Hashable {
    /// The simple commands, without redirections and comments. The commands in `$(…)` come before the command that
    /// contains them, in which `$(…)` stands for them. Other expansions stay as they are written.
    package let commands: [[String]]

    /// - Returns: nil for a text whose quotes, substitutions or last line are not complete.
    package init?(_ text: String) {
        var reader = Reader(rest: Substring(text))
        guard reader.read() else { return nil }
        commands = reader.commands
    }

    /// Returns the arguments of each simple command that runs `program`, without assignments before it.
    package func arguments(of program: String) -> [[String]] {
        commands.compactMap { words in
            let command = words.drop { $0.contains(/^[A-Za-z_][A-Za-z0-9_]*=/) }
            return command.first == program ? Array(command.dropFirst()) : nil
        }
    }

    private struct Reader {
        var rest: Substring
        var commands: [[String]] = []
        private var words: [String] = []
        private var word: String?
        /// Whether the next word is the file of a redirection.
        private var redirects = false

        init(rest: Substring) {
            self.rest = rest
        }

        /// Reads to the end, or to the parenthesis that ends a substitution. Returns false if the parenthesis is
        /// missing.
        mutating func read(inSubstitution: Bool = false) -> Bool {
            while let character = rest.popFirst() {
                switch character {
                case "\\":
                    guard let next = rest.popFirst() else { return false }
                    if next != "\n" { append(next) }
                case "'":
                    guard let end = rest.firstIndex(of: "'") else { return false }
                    append(rest[..<end])
                    rest = rest[rest.index(after: end)...]
                case "\"": guard readQuoted() else { return false }
                case "$" where rest.first == "(": guard readSubstitution() else { return false }
                case "#" where word == nil: rest = rest.drop { $0 != "\n" }
                case ")" where inSubstitution:
                    endCommand()
                    return true
                case ";", "&", "|", "\n": endCommand()
                case " ", "\t": endWord()
                case "<", ">":
                    // A number before the redirection is its descriptor.
                    if let number = word, !number.isEmpty, number.allSatisfy(\.isNumber) { word = nil }
                    endWord()
                    rest = rest.drop { $0 == ">" || $0 == "&" }
                    redirects = true
                default: append(character)
                }
            }
            endCommand()
            return !inSubstitution
        }

        private mutating func readQuoted() -> Bool {
            append("")
            while let character = rest.popFirst() {
                switch character {
                case "\"": return true
                case "\\":
                    guard let next = rest.popFirst() else { return false }
                    if !"\\\"$`\n".contains(next) { append(character) }
                    if next != "\n" { append(next) }
                case "$" where rest.first == "(": guard readSubstitution() else { return false }
                default: append(character)
                }
            }
            return false
        }

        private mutating func readSubstitution() -> Bool {
            var inner = Reader(rest: rest.dropFirst())
            guard inner.read(inSubstitution: true) else { return false }
            commands += inner.commands
            rest = inner.rest
            append("$(…)")
            return true
        }

        private mutating func append(_ text: some StringProtocol) { word = (word ?? "") + text }

        private mutating func append(_ character: Character) { append(String(character)) }

        private mutating func endWord() {
            guard let word else { return }
            if !redirects { words.append(word) }
            redirects = false
            self.word = nil
        }

        private mutating func endCommand() {
            endWord()
            redirects = false
            if !words.isEmpty { commands.append(words) }
            words = []
        }
    }
}
