import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct DeviceShowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show whether the device dozes, each value with its source, and the apps that keep the device awake.",
        discussion: """
            The value 'assumed' means that no part of the system reports it. 'nightshift doctor' shows which part is \
            missing.

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
