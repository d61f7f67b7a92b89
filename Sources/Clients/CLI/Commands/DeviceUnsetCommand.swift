import ArgumentParser
import NightshiftAPI

struct DeviceUnsetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Remove overrides of the device.",
        discussion: """
            The service uses the real values again instead of those that you set with 'nightshift device set'.

            Examples:
              nightshift device unset power idle
              nightshift device unset --all
            """)

    @Argument(
        help: ArgumentHelp("The keys whose overrides to remove.", valueName: "key"),
        completion: .list(DeviceKey.allCases.map(\.rawValue)), transform: DeviceValueArgument.key)
    var keys: [DeviceKey] = []

    @Flag(help: "Remove all overrides.")
    var all = false

    @OptionGroup var format: JSONOption

    func validate() throws {
        guard keys.isEmpty == all else { throw ValidationError("Give either the keys to unset or --all.") }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var overrides: [DeviceKey: String?] = [:]
        for key in all ? DeviceKey.allCases : keys { overrides[key] = .some(nil) }
        return try await invocation.change(DeviceChange(overrides: overrides), json: format.json)
    }
}
