import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppPolicyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or set how much background time an app has.",
        discussion: """
            The policy contiguous gives the app 600 s, and keeps the device awake for it. The policy opportunistic \
            gives it 180 s, which pass only while the device is awake anyway. To set another time, add it after a \
            colon, such as opportunistic:30. With default the policy comes from X-Nightshift-BackgroundPolicy in the \
            desktop entry, or from 'nightshift device policy'.

            Examples:
              nightshift app policy org.example.Photos
              nightshift app policy org.example.Photos contiguous
              nightshift app policy org.example.Photos default
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Argument(
        help: ArgumentHelp(
            "contiguous or opportunistic, optionally with :SECONDS, or default.", valueName: "policy"),
        transform: { $0 == "default" ? $0 : try PolicyArgument.parse($0).description })
    var policy: String?

    @OptionGroup var format: JSONOption

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let id = try invocation.appID(id)
        let app: AppStatus
        if let policy {
            try await invocation.service.ready()
            app = try await invocation.service.client.send(
                .changeApp(id, AppChange(backgroundPolicy: policy)))
        } else {
            app = try await invocation.service.fetch(.app(id))
        }
        if format.json {
            try invocation.json(app)
        } else {
            invocation.output.line("\(AppText.id(app.id)): \(AppText.policy(app.background))")
        }
        return .whole
    }
}
