import ArgumentParser
import NightshiftAPI

struct DeviceWindowCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "window",
        abstract: "Open a window of doze now.",
        discussion: """
            Everything runs that waited for one. The window closes when nothing in it is busy.

            Examples:
              nightshift device window
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.window, json: format.json)
    }
}
