import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct WhyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain the state of transfers, apps, pushes or regions.",
        discussion: """
            Explains what a transfer waits for, since when, what ends the wait, and which errors occurred lately. \
            Several ids are explained one after the other, and with --json as one array. A name is searched for among \
            apps, transfers, pushes and regions, in this order.

            Examples:
              nightshift why 12
              nightshift why 12 13 big.iso
              nightshift why org.example.Photos
              nightshift why 12 --json
            """)

    @Argument(help: SubjectArgument.help, completion: DynamicCompletion.subjects.kind, transform: SubjectArgument.parse)
    var ids: [SubjectArgument]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let report = TaskReport(times: invocation.times, style: Style(isEnabled: invocation.output.allowsColor))
        return try await SubjectReading(
            invocation: invocation, json: format.json,
            task: { id in
                let explanation = try await invocation.service.fetch(.why(id))
                return SubjectAnswer(lines: report.lines(explaining: explanation), document: explanation)
            },
            app: { try await invocation.explanation(of: $0) }
        ).run(ids)
    }
}
