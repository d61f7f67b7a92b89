import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct ShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about transfers, apps, pushes or regions.",
        discussion: """
            Several ids are shown one after the other, and with --json as one array. A name is searched for among \
            apps, transfers, pushes and regions, in this order.

            Examples:
              nightshift show 12
              nightshift show 12-15 big.iso
              nightshift show org.example.Photos
              nightshift show 12 --json
            """)

    @Argument(help: SubjectArgument.help, completion: DynamicCompletion.subjects.kind, transform: SubjectArgument.parse)
    var ids: [SubjectArgument]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let report = TaskReport(times: invocation.times, style: Style(isEnabled: invocation.output.allowsColor))
        return try await SubjectReading(
            invocation: invocation, json: format.json,
            task: { id in
                let task = try await invocation.service.task(id)
                return SubjectAnswer(lines: report.lines(showing: task), document: task)
            },
            app: { try await invocation.description(of: $0) }
        ).run(ids)
    }
}
