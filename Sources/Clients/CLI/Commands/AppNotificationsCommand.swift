import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppNotificationsCommand: ClientCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Show or set an app's notification permission.",
        discussion: """
            Without an option, this shows the app's remote notifications, as 'nightshift push why ID' does. With \
            --deny no notification of the app is shown, but pushes still wake it. With --ask the app may ask you \
            again. Alerts that arrive before you have decided are kept. The first of them causes a notification that \
            asks you.

            Examples:
              nightshift app notifications org.example.Mail
              nightshift app notifications org.example.Mail --allow
              nightshift app notifications org.example.Mail --deny
            """)

    @Argument(help: AppArgument.help, completion: DynamicCompletion.apps.kind, transform: AppArgument.parse)
    var id: AppArgument

    @Flag var word: Word?

    @OptionGroup var format: JSONOption

    /// An option that sets an app's notification permission.
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
            case .allow: "Show the app's notifications."
            case .deny: "Show no notification of the app."
            case .ask: "Reset the permission, so that the app may ask you again."
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
