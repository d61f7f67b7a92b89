import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppListCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List apps with their states.",
        discussion: """
            The list contains the installed apps, and programs that use the service without a desktop entry.

            Examples:
              nightshift app list
              nightshift app list --json | jq -r '.apps[].id'
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let list = try await invocation.service.fetch(.apps)
        if format.json {
            try invocation.json(list)
            return .whole
        }
        for app in list.unreadable ?? [] { invocation.errors.line("nightshift: " + TerminalText.escaped(app.sentence)) }
        guard !list.apps.isEmpty else {
            guard list.unreadable == nil else { return .whole }
            invocation.errors.line("No app is installed. Install one with: nightshift app install FILE")
            return .whole
        }
        let output = invocation.output
        let table = AppTable(
            // Lines are cut only for a terminal. A pipe receives complete lines.
            columns: output.isTerminal ? output.size().columns : .max,
            style: Style(isEnabled: output.allowsColor), times: invocation.times)
        output.lines(table.lines(list.apps))
        return .whole
    }
}
