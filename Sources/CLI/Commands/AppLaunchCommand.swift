import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppLaunchCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Start an app as the user would.",
        discussion: """
            An app that was force-quit is taken back into the background launches by this. Its output goes to its \
            log, see 'nightshift app log'.

            Examples:
              nightshift app launch org.example.Photos
              nightshift app launch org.example.Photos --background
              nightshift app launch org.example.Photos -- --album summer
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Start it without the user seeing it, as a wake does.")
    var background = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("What the program gets behind the arguments of its entry.", valueName: "argument"))
    var arguments: [String] = []

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let request = LaunchRequest(
            background: background ? true : nil, arguments: arguments.isEmpty ? nil : arguments)
        return try await invocation.changeApp(id, json: format.json) { .launch($0, request) }
    }
}
