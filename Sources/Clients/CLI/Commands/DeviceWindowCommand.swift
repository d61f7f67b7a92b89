import ArgumentParser
import NightshiftAPI

struct DeviceWindowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "window",
        abstract: "Open a maintenance window now.",
        discussion: """
            All work that waited for a maintenance window runs. The window closes when this work is done.

            Examples:
              nightshift device window
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.window, json: format.json)
    }
}
