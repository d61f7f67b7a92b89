import ArgumentParser
import NightshiftAPI

struct DeviceWakeCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "wake",
        abstract: "End doze.",
        discussion: """
            Background work continues. The device does not doze again until it has been used.

            Examples:
              nightshift device wake
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.awake, json: format.json)
    }
}
