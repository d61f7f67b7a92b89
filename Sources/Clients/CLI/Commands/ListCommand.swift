import ArgumentParser
import Foundation
import NightshiftAPI
import NightshiftClient

extension TaskState: ExpressibleByArgument {
    /// Creates the state from its name on the command line, such as `paused`, or from its name in the API, such as
    /// `suspended`.
    package init?(argument: String) {
        guard let state = Self.allCases.first(where: { $0.name == argument || $0.rawValue == argument })
        else { return nil }
        self = state
    }

    package static var allValueStrings: [String] { allCases.map { $0.name } }
}

struct ListCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List transfers.",
        discussion: """
            Without options, the transfers that have not ended are listed.

            Examples:
              nightshift list
              nightshift list --all
              nightshift list --state failed --state waiting
              nightshift list --session org.example.Photos:import
              nightshift list --all --json | jq '.tasks[].url'
            """)

    @Option(help: ArgumentHelp("List only transfers in this state. Can be repeated.", valueName: "state"))
    var state: [TaskState] = []

    @Flag(name: .shortAndLong, help: "Also list transfers that have ended.")
    var all = false

    @Option(
        help: ArgumentHelp(
            "List only transfers of this session: 'terminal' for those of this command line, APP:NAME for an app's.",
            valueName: "id"))
    var session: String?

    @OptionGroup var format: JSONOption

    func validate() throws {
        if all && !state.isEmpty { throw ValidationError("--state and --all cannot be combined.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let states = all ? [] : state.isEmpty ? TaskState.unfinished : state
        let filter = TaskFilter(states: states, session: session.map(SessionID.init(rawValue:)))
        if format.json {
            try await printJSON(filter, invocation)
        } else {
            try await printTable(filter, invocation)
        }
        return .whole
    }

    /// Prints one JSON document. It is written while the list is read, so that a long list needs little memory.
    private func printJSON(_ filter: TaskFilter, _ invocation: Invocation) async throws {
        var separator = "{\"tasks\":["
        var unreadable: [UnreadableTask] = []
        func collect(_ task: UnreadableTask) { unreadable.append(task) }
        try await invocation.service.forEachTask(filter, unreadable: collect) { task in
            invocation.output.write(Data(separator.utf8) + (try JSON.encode(task)))
            separator = ",\n"
        }
        var end = (separator.hasPrefix("{") ? separator : "") + "]"
        if !unreadable.isEmpty {
            end += ",\"unreadable\":" + String(decoding: try JSON.encode(unreadable), as: UTF8.self)
        }
        invocation.output.line(end + "}")
    }

    private func printTable(_ filter: TaskFilter, _ invocation: Invocation) async throws {
        let output = invocation.output
        let style = Style(isEnabled: output.allowsColor)
        // Lines are cut only for a terminal. A pipe receives complete lines.
        let table = TaskTable(columns: output.isTerminal ? output.size().columns : .max, style: style)
        let times = invocation.times
        var count = 0
        func warn(of task: UnreadableTask) {
            invocation.errors.line(
                "nightshift: The stored data of transfer \(task.id) cannot be read: \(TerminalText.escaped(task.reason)) "
                    + "'nightshift remove \(task.id)' deletes it.")
        }
        try await invocation.service.forEachTask(filter, unreadable: warn) { task in
            if count == 0 { output.line(style.strong(table.header)) }
            count += 1
            output.line(table.line(task, times: times))
        }
        if count == 0 {
            invocation.errors.line(
                all ? "There are no transfers." : "No unfinished transfers. --all also lists those that have ended.")
        }
    }
}
