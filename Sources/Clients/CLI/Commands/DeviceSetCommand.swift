import ArgumentParser
import NightshiftAPI

struct DeviceSetCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Override values of the device, for testing.",
        discussion: """
            Overrides stay until you remove them with 'nightshift device unset'. The keys and their values are:

            \(keys)

            Examples:
              nightshift device set power=battery battery=42 idle=yes
              nightshift device set expensive=yes
              nightshift device set network=no
              nightshift device set location=52.5163,13.3777,20
            """)

    private static let keys = DeviceKey.allCases.map { "  \($0.rawValue): \($0.grammar)" }.joined(separator: "\n")

    @Argument(
        help: ArgumentHelp("The values to override.", valueName: "key=value"),
        completion: .list(DeviceKey.allCases.map { "\($0.rawValue)=" }), transform: DeviceValueArgument.parse)
    var values: [DeviceValueArgument]

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        var overrides: [DeviceKey: String?] = [:]
        for value in values { overrides[value.key] = .some(value.text) }
        return try await invocation.change(DeviceChange(overrides: overrides), json: format.json)
    }
}
