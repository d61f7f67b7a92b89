import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the lines that documents show for copying work, each in a new home with its own service.
@Suite(.timeLimit(.minutes(20))) struct DocumentCommandTests {
    /// The beginnings of the lines that are not run, with the reasons.
    private static let notRun = [
        "nightshift push enrol ": "It needs a push gateway.",
        "nightshift push token ": "It needs an enrolment at a push gateway.",
        "nightshift service install": "It concerns the systemd units of a default home.",
        "nightshift service uninstall": "It concerns the systemd units of a default home.",
    ]

    /// The exit codes other than 0, by a part of the line.
    private static let exitCodes: [String: (code: Int32, reason: String)] = [
        "\"priorty\"": (22, "The document shows how the API refuses a mistyped key."),
        "5e5c...e1": (22, "The digest is shortened to fit the page."),
    ]

    static func lines() throws -> [DocumentedCommand] {
        try DocumentedCommand.all().filter { command in
            guard command.form == .block else { return false }
            return command.text.hasPrefix("nightshift ")
                || command.text.hasPrefix("curl ") && command.text.contains("--unix-socket")
        }
    }

    private static func isRun(_ line: DocumentedCommand) -> Bool {
        !notRun.keys.contains { line.text.hasPrefix($0) }
            && (line.text.hasPrefix("nightshift ") || Programs.has("curl"))
    }

    /// Returns whether the command follows something without end, or waits for conditions that do not occur here.
    private static func isFollowed(_ text: String) -> Bool {
        let words = ShellLine(text)?.commands.first ?? []
        return words.contains { ["watch", "-f", "--not-before", "--discretionary", "--no-buffer"].contains($0) }
    }

    @Test(arguments: try lines().filter(isRun))
    func `Each command line that a document shows for copying works`(_ line: DocumentedCommand) async throws {
        await Self.slots.enter()
        do {
            try await check(line)
        } catch {
            Issue.record(error)
        }
        await Self.slots.leave()
    }

    @Test(arguments: [("README.md", "."), ("Examples/feeds/README.md", "Examples/feeds")])
    func `The documented steps install an app whose program the service finds`(
        _ document: String, _ folder: String
    ) async throws {
        let lines = try DocumentedCommand.all().filter { $0.document == document && $0.form == .block }.map(\.text)
        let last = try #require(lines.firstIndex { $0.hasPrefix("nightshift app install ") })
        let first = try #require(lines[...last].lastIndex { $0.hasPrefix("install ") })
        let home = try DocumentedHome(hasExamples: false)
        let steps = ["cd \(folder)"] + lines[first...last]
        let outcome = try await home.run("set -e\n" + steps.joined(separator: "\n"), followed: false)
        #expect(outcome.exit == .code(0) && !outcome.errors.contains("warning"), "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.contains("org.example.Feeds: installed as Feeds"))
    }

    private func check(_ line: DocumentedCommand) async throws {
        let home = try DocumentedHome()
        try await home.prepare(for: line.text)
        let isFollowed = Self.isFollowed(line.text)
        let outcome = try await home.run(line.text, followed: isFollowed)
        let code = Self.exitCodes.first { line.text.contains($0.key) }?.value.code ?? 0
        let expected: [ChildProcess.Exit] = isFollowed ? [.code(0), .code(130), .signal(SIGINT)] : [.code(code)]
        #expect(expected.contains(outcome.exit), "\(outcome.output)\(outcome.errors)")
    }

    @Test func `Each exception and each prepared file belongs to a command line of a document`() throws {
        let lines = try Self.lines().map(\.text)
        #expect(lines.count > 80)
        for beginning in Self.notRun.keys {
            #expect(lines.contains { $0.hasPrefix(beginning) }, "No line begins with '\(beginning)'. Remove it here.")
        }
        let parts = [
            Array(Self.exitCodes.keys), Array(DocumentedHome.inputs.keys), Array(DocumentedHome.idlePrograms.values),
        ]
        for part in parts.joined() {
            #expect(lines.contains { $0.contains(part) }, "No line contains '\(part)'. Remove it here.")
        }
    }

    private static let slots = Slots(4)

    /// Limits how many lines run at a time, because each line has its own service.
    private actor Slots {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ count: Int) {
            free = count
        }

        func enter() async {
            guard free == 0 else {
                free -= 1
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func leave() {
            guard !waiting.isEmpty else {
                free += 1
                return
            }
            waiting.removeFirst().resume()
        }
    }
}
