import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct DeviceShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show each value with its source, doze, and who keeps the device awake.",
        discussion: """
            A value that is 'assumed' is told by nobody: 'nightshift doctor' says which part of the system is missing.

            Examples:
              nightshift device show
              nightshift device show --json
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let device = try await invocation.service.fetch(.device)
        if format.json {
            try invocation.json(device)
        } else {
            invocation.output.lines(invocation.deviceReport.lines(device))
        }
        return .whole
    }
}
