import NightshiftAPI

/// Words of a command line that may hold secrets, and the parser's messages, which repeat them.
enum SecretArguments {
    /// Options whose values are fields, of a request or of a form, or people's passwords.
    private static let options: Set<String> = ["-H", "--header", "--form", "-F", "--user", "-u"]

    /// Whether a word is the value of an option that takes secrets.
    ///
    /// - Parameter previous: the word before it.
    static func mayBeSecret(_ word: String, after previous: String?) -> Bool {
        if let previous, options.contains(previous) { return true }
        return options.contains { option in word.hasPrefix(option.hasPrefix("--") ? option + "=" : option) }
    }

    /// The message with what is secret in the arguments that it repeats left out.
    static func hidden(in message: String, _ arguments: [String]) -> String {
        var words: [(secret: String, shown: String)] = []
        for (index, argument) in arguments.enumerated() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            if index > 0, options.contains(arguments[index - 1]) {
                words.append((argument, shown(argument)))
            } else if parts.count == 2, options.contains(String(parts[0])) {
                words.append((String(parts[1]), shown(String(parts[1]))))
            } else if argument.contains("://") {
                words.append((argument, Redaction.url(argument)))
            }
        }
        return words.sorted { $0.secret.count > $1.secret.count }.reduce(message) { message, word in
            // As the parser repeats a word: a short one may be part of others.
            message.replacing("'\(word.secret)'", with: "'\(word.shown)'")
        }
    }

    /// A field's name alone.
    private static func shown(_ field: String) -> String {
        guard let end = field.firstIndex(where: { $0 == ":" || $0 == "=" }) else { return Redaction.mask }
        return "\(field[...end]) \(Redaction.mask)"
    }
}
