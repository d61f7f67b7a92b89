import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct ServiceStartCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start the service in the background if it does not run yet.",
        discussion: """
            Examples:
              nightshift service start
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let status = try await invocation.service.fetch(.status)
        if format.json {
            try invocation.json(ServiceChange(isRunning: true, processID: status.processID))
        } else {
            invocation.output.line("The service runs as process \(status.processID).")
        }
        return .whole
    }
}
