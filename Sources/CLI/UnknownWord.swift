import ArgumentParser

/// A word of the arguments that is neither a command nor an option, though it stands where one does.
///
/// The parser checks what a command was given before it tells of an option that it does not know: the value behind such an
/// option looks like one more argument, and what is said of that leads astray.
enum UnknownWord {
    /// What to say about the first such word of `arguments`; nil where there is none.
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

    private static func commandMessage(_ word: String, _ path: String, _ known: [String]) -> String {
        // Not repeated: it may hold a password.
        if word.contains("://") {
            return "Type a command before the URL: 'nightshift get URL' downloads, 'nightshift put FILE URL' uploads."
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
        // Letters are too short to be near to one another.
        let near = word.hasPrefix("--") ? known.filter { $0.hasPrefix("--") && isNear($0, word) }.sorted() : []
        return "'\(path)' has no option '\(word)'.\(question(near)) '\(path) --help' lists the options."
    }

    private static func question(_ guesses: [String]) -> String {
        guesses.isEmpty ? "" : " Did you mean \(guesses.map { "'\($0)'" }.joined(separator: " or "))?"
    }

    /// One letter is missing, too much, another, or two have changed places; or the rest is not typed yet.
    private static func isNear(_ name: String, _ word: String) -> Bool {
        guard word.count > 1 else { return false }
        return name.hasPrefix(word) || name.difference(from: word).count <= 2
    }

    private static func names(_ command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }

    /// The options that `word` names, without a value: several letters may follow one hyphen. Empty for what is none, such as a
    /// number below zero.
    private static func optionNames(_ word: String) -> [String] {
        if let match = word.prefixMatch(of: /--[A-Za-z][A-Za-z0-9-]*/) { return [String(match.output)] }
        guard let match = word.wholeMatch(of: /-([A-Za-z]+)/) else { return [] }
        return match.output.1.map { "-\($0)" }
    }

    /// All that the help of a command and of what it does by default tells of: the parser has no other list for us.
    private static func options(_ command: any ParsableCommand.Type) -> Set<String> {
        let help = NightshiftCommand.helpMessage(for: command, includeHidden: true)
        let told = help.matches(of: /(?:^|[\s,\/\[(])(--?[A-Za-z][A-Za-z0-9-]*)/).map { String($0.output.1) }
        return Set(told).union(command.configuration.defaultSubcommand.map(options) ?? [])
    }
}
