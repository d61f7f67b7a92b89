import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppLaunchCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch",
        abstract: "Launch an app in the foreground.",
        discussion: """
            If you have force-quit the app, it may be launched in the background again from now on. Its output goes to \
            a log, which 'nightshift app log' prints.

            Examples:
              nightshift app launch org.example.Photos
              nightshift app launch org.example.Photos --background
              nightshift app launch org.example.Photos -- --album summer
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag(help: "Launch the app in the background, as for a wake.")
    var background = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("Arguments for the program, after those of its desktop entry.", valueName: "argument"))
    var arguments: [String] = []

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let request = LaunchRequest(
            background: background ? true : nil, arguments: arguments.isEmpty ? nil : arguments)
        return try await invocation.changeApp(id, json: format.json) { .launch($0, request) }
    }
}
