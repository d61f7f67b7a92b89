import ArgumentParser
import NightshiftAPI

struct DeviceUnsetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Believe the device again.",
        discussion: """
            Takes away what 'nightshift device set' has put in its place.

            Examples:
              nightshift device unset power idle
              nightshift device unset --all
            """)

    @Argument(
        help: ArgumentHelp("Names of values.", valueName: "key"),
        completion: .list(DeviceKey.allCases.map(\.rawValue)), transform: DeviceValueArgument.key)
    var keys: [DeviceKey] = []

    @Flag(help: "All of them.")
    var all = false

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard keys.isEmpty == all else { throw ValidationError("Name the values to unset, or say --all.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var overrides: [DeviceKey: String?] = [:]
        for key in all ? DeviceKey.allCases : keys { overrides[key] = .some(nil) }
        return try await invocation.change(DeviceChange(overrides: overrides), json: format.json)
    }
}
