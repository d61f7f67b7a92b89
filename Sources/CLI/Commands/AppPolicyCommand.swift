import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppPolicyCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show or set how much background time an app has.",
        discussion: """
            contiguous (600 s, the device stays awake) or opportunistic (180 s while it is awake anyway), both with \
            another time behind a colon; default takes the app's own word back: then its entry's \
            X-Nightshift-BackgroundPolicy counts, else the device's policy.

            Examples:
              nightshift app policy org.example.Photos
              nightshift app policy org.example.Photos contiguous
              nightshift app policy org.example.Photos default
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Argument(
        help: ArgumentHelp("contiguous, opportunistic, either with :SECONDS, or default.", valueName: "policy"),
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
