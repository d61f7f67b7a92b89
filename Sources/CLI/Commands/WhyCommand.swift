import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct WhyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain why a transfer or an app is in its state.",
        discussion: """
            Says what it waits for, since when, until when or what would end it, and what went wrong lately.

            Examples:
              nightshift why 12
              nightshift why org.example.Photos
              nightshift why 12 --json
            """)

    @Argument(help: "The task's number, or the app's id.", transform: AppArgument.parse)
    var id: AppArgument

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        guard let id = Int64(id.text) else { return try await invocation.explain(id, json: format.json) }
        let explanation = try await invocation.service.fetch(.why(TaskID(id)))
        if format.json {
            try invocation.json(explanation)
        } else {
            let report = TaskReport(
                times: invocation.times, style: Style(isEnabled: invocation.output.allowsColor))
            invocation.output.lines(report.lines(explaining: explanation))
        }
        return .whole
    }
}
