import ArgumentParser
import Foundation
import Testing

@testable import CLI

struct HelpTests {
    /// All visible commands.
    static let commands = below(NightshiftCommand.self)

    private static func below(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap { [$0] + below($0) }
    }

    private static func fixture(_ command: any ParsableCommand.Type) -> String {
        "help-" + String(describing: command).replacing("Command", with: "").lowercased()
    }

    @Test func root() throws {
        try Fixture.check("help", HelpText.help(for: NightshiftCommand.self, columns: 80))
    }

    @Test(arguments: commands.map { String(describing: $0) })
    func every(_ type: String) throws {
        let command = try #require(Self.commands.first { String(describing: $0) == type })
        try Fixture.check(Self.fixture(command), HelpText.help(for: command, columns: 80))
        // Each command that performs an action has --json and examples.
        if command is any ClientCommand.Type {
            #expect(NightshiftCommand.helpMessage(for: command).contains("--json"))
            #expect(command.configuration.discussion.contains("Examples:\n"))
        }
    }

    @Test func `Every help fixture belongs to a command`() throws {
        let folder = Fixture.root.appending(path: "Tests/Fixtures/CLI").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("help-") }
        #expect(Self.commands.count > 60)
        #expect(Set(files) == Set(Self.commands.map { Self.fixture($0) + ".txt" }))
    }

    @Test func `Every example fits a terminal of 80 columns`() {
        for command in Self.commands {
            let lines = command.configuration.discussion.split(separator: "\n").filter { $0.hasPrefix("  nightshift ") }
            #expect(lines.allSatisfy { $0.count <= 79 }, "\(command)")
        }
    }

    @Test(arguments: [40, 80, 200])
    func `Help does not wrap examples`(_ columns: Int) {
        for command in Self.commands {
            let help = HelpText.help(for: command, columns: columns)
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  nightshift ") {
                #expect(help.contains("\n\(line)\n"), "\(command)")
            }
        }
    }
}
