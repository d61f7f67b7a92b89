import ArgumentParser
import NightshiftAPI

struct DeviceWakeCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "wake",
        abstract: "End doze, and keep the device out of it until it was used again.",
        discussion: """
            Background work goes on.

            Examples:
              nightshift device wake
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.awake, json: format.json)
    }
}
