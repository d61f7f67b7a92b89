import ArgumentParser
import TestSupport
import Testing

@testable import CLI

/// Tests that the documents show only commands that the command line accepts.
struct DocumentCommandTests {
    /// One use of `nightshift` in a document.
    struct Use: Sendable, CustomStringConvertible {
        let command: DocumentedCommand
        let arguments: [String]

        var description: String { command.description }
    }

    static func uses() throws -> [Use] {
        try DocumentedCommand.all().flatMap { command in
            let line = ShellLine(command.text)
            return (line?.arguments(of: "nightshift") ?? []).map { Use(command: command, arguments: $0) }
        }
    }

    @Test func `The documents show many commands, both in code blocks and in backticks`() throws {
        let uses = try Self.uses()
        #expect(uses.count { $0.command.form == .block } > 50)
        #expect(uses.count { $0.command.form == .span } > 100)
    }

    @Test(arguments: try uses())
    func `The command line accepts each command that a document shows`(_ use: Use) {
        #expect(Self.refusal(of: use.arguments, as: use.command.form) == nil)
    }

    @Test(arguments: [
        ["lst"], ["app", "shw", "ID"], ["why", "12", "--al"], ["device", "policy", "--lea"],
        ["app", "policy", "ID", "often"], ["get", "--connections", "URL"], ["list", "--state", "lost"],
    ])
    func `The check finds a mistake in a command in backticks`(_ arguments: [String]) {
        #expect(Self.refusal(of: arguments, as: .span) != nil)
    }

    @Test(arguments: [["why"], ["app", "log"], ["get", "--detach"]])
    func `The check refuses an incomplete command in a code block`(_ arguments: [String]) {
        #expect(Self.refusal(of: arguments, as: .span) == nil)
        #expect(Self.refusal(of: arguments, as: .block) != nil)
    }

    // MARK: -

    /// Returns the error message if the arguments are refused for all values of their placeholders; nil if they are
    /// accepted.
    private static func refusal(of arguments: [String], as form: DocumentedCommand.Form) -> String? {
        if form == .span, namesCommand(arguments) { return nil }
        var refusal: String?
        for ending in form == .span ? endings : [[]] {
            for id in ["1", "org.example.App"] {
                do {
                    _ = try NightshiftCommand.parseAsRoot(arguments.map { filled($0, id: id) } + ending)
                    return nil
                } catch {
                    if NightshiftCommand.exitCode(for: error) == .success { return nil }
                    refusal = refusal ?? NightshiftCommand.message(for: error)
                }
            }
        }
        return refusal
    }

    /// The arguments that a sentence may leave out at the end of a command.
    private static let endings = [[], ["1"], [url], ["FILE", url]]
    private static let url = "https://example.org/a"

    private static func namesCommand(_ words: [String]) -> Bool {
        var command: any ParsableCommand.Type = NightshiftCommand.self
        for word in words {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
                return false
            }
            command = next
        }
        return true
    }

    /// Returns the word with a value for each placeholder, and with its optional part.
    private static func filled(_ word: String, id: String) -> String {
        if word == "..." { return "Name: value" }
        if word == "$(…)" { return "nightshift-push://push.example.org:5223/CODE" }
        let values = [
            "ID": id, "URL": url, "APP": "org.example.App", "N": "1", "COMMAND": "get", "LAT": "52.5", "LON": "13.4",
            "ACCURACY": "20",
        ]
        return word.filter { $0 != "[" && $0 != "]" }.replacing(/\b[A-Z]+\b/) { match in
            values[String(match.output)] ?? String(match.output)
        }
    }
}
