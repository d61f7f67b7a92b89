import ArgumentParser
import NightshiftAPI

struct DeviceDozeCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "doze",
        abstract: "Ask the device to doze now.",
        discussion: """
            Background work stands still until the next window, the user, or 'nightshift device wake'. Refused on a device that is plugged in and in use, and while an app holds it awake.

            Examples:
              nightshift device doze
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.dozing, json: format.json)
    }
}
