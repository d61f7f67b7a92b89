import ArgumentParser
import NightshiftAPI

struct DeviceDozeCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "doze",
        abstract: "Start doze now.",
        discussion: """
            Background work is paused until the next maintenance window, until you use the device, or until \
            'nightshift device wake'. Doze is refused if the device is plugged in and in use, and while an app keeps \
            it awake.

            Examples:
              nightshift device doze
            """)

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        try await invocation.request(.dozing, json: format.json)
    }
}
