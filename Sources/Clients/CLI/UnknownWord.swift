import ArgumentParser

/// A search for the first argument that should be a command or an option but is unknown.
///
/// The parser checks the number of arguments before it reports an unknown option. It counts the value after an unknown
/// option as an argument, so its message is misleading.
enum UnknownWord {
    /// Returns a message about the first unknown word in `arguments`, or nil if all words are known.
    static func message(_ arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = NightshiftCommand.self
        var path = "nightshift"
        for (index, word) in arguments.enumerated() {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !word.hasPrefix("-") else {
                return optionMessage(arguments[index...], path, options(command))
            }
            if let next = known.first(where: { names($0).contains(word) }) {
                command = next
                path += " \(word)"
            } else if word == "help" {
                return nil
            } else {
                return commandMessage(word, path, known.filter { $0.configuration.shouldDisplay }.flatMap(names))
            }
        }
        return nil
    }

    /// Returns a message about the first unknown command in a request for help, such as `help app kil`; nil if all
    /// commands are known.
    static func message(aboutHelp arguments: [String]) -> String? {
        let words = arguments.prefix { !$0.hasPrefix("-") }
        guard let place = words.firstIndex(of: "help") else { return nil }
        return message(Array(words[..<place] + words[(place + 1)...]))
    }

    private static func commandMessage(_ word: String, _ path: String, _ known: [String]) -> String {
        // The message does not repeat the word, because the word may contain a password.
        if word.contains("://") {
            return
                "Type a command before the URL: 'nightshift get URL' downloads, and 'nightshift put FILE URL' uploads."
        }
        if let hint = FamiliarWords.command(word, after: path) { return "There is no command '\(word)'. \(hint)" }
        let question = question(known.filter { isNear($0, word) }.map { "\(path) \($0)" })
        return "There is no command '\(word)'.\(question) '\(path) --help' lists the commands."
    }

    private static func optionMessage(_ arguments: ArraySlice<String>, _ path: String, _ known: Set<String>) -> String?
    {
        let words = arguments.prefix { $0 != "--" }.flatMap(optionNames)
        guard let word = words.first(where: { !known.contains($0) }) else { return nil }
        if let hint = FamiliarWords.option(word, of: path) { return "'\(path)' has no option '\(word)'. \(hint)" }
        // Options of one letter are too short to find similar ones.
        let near = word.hasPrefix("--") ? known.filter { $0.hasPrefix("--") && isNear($0, word) }.sorted() : []
        return "'\(path)' has no option '\(word)'.\(question(near)) '\(path) --help' lists the options."
    }

    private static func question(_ guesses: [String]) -> String {
        guesses.isEmpty ? "" : " Did you mean \(guesses.map { "'\($0)'" }.joined(separator: " or "))?"
    }

    /// Returns whether `word` is the beginning of `name`, or differs from it by one letter or by two swapped letters.
    private static func isNear(_ name: String, _ word: String) -> Bool {
        guard word.count > 1 else { return false }
        return name.hasPrefix(word) || name.difference(from: word).count <= 2
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }

    /// Returns the names of the options in `word`, without a value. Several one-letter options may share one hyphen.
    /// Returns an empty list for a word that is not an option, such as a negative number.
    private static func optionNames(_ word: String) -> [String] {
        if let match = word.prefixMatch(of: /--[A-Za-z][A-Za-z0-9-]*/) { return [String(match.output)] }
        guard let match = word.wholeMatch(of: /-([A-Za-z]+)/) else { return [] }
        return match.output.1.map { "-\($0)" }
    }

    /// Returns all options that the help of a command and of its default subcommand lists. The parser has no other
    /// list.
    private static func options(_ command: any ParsableCommand.Type) -> Set<String> {
        let help = NightshiftCommand.helpMessage(for: command, includeHidden: true)
        let told = help.matches(of: /(?:^|[\s,\/\[(])(--?[A-Za-z][A-Za-z0-9-]*)/).map { String($0.output.1) }
        return Set(told).union(command.configuration.defaultSubcommand.map(options) ?? [])
    }
}
