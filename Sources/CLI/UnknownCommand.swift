import ArgumentParser

/// A word in the place of a command that is none.
enum UnknownCommand {
    /// What to say about the first such word of `arguments`; nil where there is none.
    static func message(_ arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = NightshiftCommand.self
        var path = "nightshift"
        for word in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !word.hasPrefix("-") else { return nil }
            if let next = known.first(where: { names($0).contains(word) }) {
                command = next
                path += " \(word)"
            } else if word == "help" {
                return nil
            } else {
                return message(word, path, known.flatMap(names))
            }
        }
        return nil
    }

    private static func message(_ word: String, _ path: String, _ known: [String]) -> String {
        // Not repeated: it may hold a password.
        if word.contains("://") {
            return "Say what to do with the URL: 'nightshift get URL' downloads, 'nightshift put FILE URL' uploads."
        }
        let guesses = known.filter { isNear($0, word) }.map { "'\(path) \($0)'" }
        let question = guesses.isEmpty ? "" : " Did you mean \(guesses.joined(separator: " or "))?"
        return "There is no command '\(word)'.\(question) '\(path) --help' lists what there is."
    }

    /// One letter is missing, too much, another, or two have changed places; or the rest is not typed yet.
    private static func isNear(_ name: String, _ word: String) -> Bool {
        guard word.count > 1 else { return false }
        return name.hasPrefix(word) || name.difference(from: word).count <= 2
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }
}
