import ArgumentParser
import NightshiftAPI

struct ShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about a transfer.",
        discussion: """
            Examples:
              nightshift show 12
              nightshift show 12 --json
            """)

    @Argument(help: "The task's number.")
    var id: Int64

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let task = try await invocation.service.task(TaskID(id))
        if format.json {
            try invocation.json(task)
        } else {
            let report = TaskReport(
                times: invocation.times, style: Style(isEnabled: invocation.output.allowsColor))
            invocation.output.lines(report.lines(showing: task))
        }
        return .whole
    }
}
