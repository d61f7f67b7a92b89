import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppNotificationsCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Say whether an app's notifications are shown.",
        discussion: """
            Without an option the app's remote notifications are shown, as 'nightshift push why ID' does. With --deny \
            nothing of it is shown, though it is woken as before; with --ask it may ask again. Alerts that come before you \
            have said anything are kept, and the first one asks you by a notification.

            Examples:
              nightshift app notifications org.example.Mail
              nightshift app notifications org.example.Mail --allow
              nightshift app notifications org.example.Mail --deny
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag var word: Word?

    @OptionGroup var format: JSONOption

    /// The user's word.
    enum Word: String, EnumerableFlag {
        case allow
        case deny
        case ask

        var permission: NotificationPermission {
            switch self {
            case .allow: .allowed
            case .deny: .denied
            case .ask: .ask
            }
        }

        static func help(for value: Self) -> ArgumentHelp? {
            switch value {
            case .allow: "Show them."
            case .deny: "Show none of them."
            case .ask: "Let the app ask."
            }
        }
    }

    func run(_ invocation: Invocation) async throws -> ExitStatus {
        let app = try invocation.appID(id)
        let status: AppPushStatus
        if let word {
            try await invocation.service.ready()
            status = try await invocation.service.client.send(
                .changePush(of: app, AppPushChange(alerts: word.permission)))
        } else {
            status = try await invocation.service.fetch(.push(of: app))
        }
        if format.json {
            try invocation.json(status)
        } else {
            invocation.output.lines(invocation.pushReport.lines(status))
        }
        return .whole
    }
}
