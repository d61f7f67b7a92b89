import NightshiftAPI

/// A filter that finds arguments with secrets, and hides the secrets in the parser's messages.
enum SecretArguments {
    /// The options whose values are header fields, form fields, or user names with passwords.
    private static let options: Set<String> = ["-H", "--header", "--form", "-F", "--user", "-u"]

    /// Returns whether `word` is, or contains, the value of an option that may have a secret value.
    ///
    /// - Parameter previous: the argument before `word`.
    static func mayBeSecret(_ word: String, after previous: String?) -> Bool {
        if let previous, options.contains(previous) { return true }
        return options.contains { option in word.hasPrefix(option.hasPrefix("--") ? option + "=" : option) }
    }

    /// Returns the parser's message with the secrets of `arguments` hidden. The parser repeats arguments in its
    /// messages.
    static func hidden(in message: String, _ arguments: [String]) -> String {
        var words: [(secret: String, shown: String)] = []
        for (index, argument) in arguments.enumerated() {
            let parts = argument.split(separator: "=", maxSplits: 1)
            if index > 0, ["--user", "-u"].contains(arguments[index - 1]), argument.hasPrefix("http") {
                // The value is missing, and the option took the URL.
                words.append((argument, argument.contains("://") ? Redaction.url(argument) : shown(argument)))
            } else if index > 0, options.contains(arguments[index - 1]) {
                words.append((argument, shown(argument)))
            } else if parts.count == 2, options.contains(String(parts[0])) {
                words.append((String(parts[1]), shown(String(parts[1]))))
            } else if argument.contains("://") {
                words.append((argument, Redaction.url(argument)))
            }
        }
        return words.sorted { $0.secret.count > $1.secret.count }.reduce(message) { message, word in
            // The parser repeats an argument in single quotes. Without the quotes, a short argument could match a part
            // of another word.
            message.replacing("'\(word.secret)'", with: "'\(word.shown)'")
        }
    }

    /// Returns the name of the field, with its value masked.
    private static func shown(_ field: String) -> String {
        guard let end = field.firstIndex(where: { $0 == ":" || $0 == "=" }) else { return Redaction.mask }
        return "\(field[...end]) \(Redaction.mask)"
    }
}
