import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Install, launch and look at apps that transfer in the background.",
        discussion: """
            An app is a desktop entry that says with X-Nightshift-BackgroundModes what it may be launched for. The \
            service wakes it when its transfers have ended, suspends it when it has done its work, and launches it \
            again where it is gone.

            Examples:
              nightshift app install org.example.Photos.desktop
              nightshift app launch org.example.Photos
              nightshift app list
              nightshift app why org.example.Photos
            """,
        subcommands: [
            AppInstallCommand.self, AppRemoveCommand.self, AppListCommand.self, AppShowCommand.self,
            AppWhyCommand.self, AppLaunchCommand.self, AppActivateCommand.self, AppBackgroundCommand.self,
            AppPolicyCommand.self, AppRefreshCommand.self, AppScheduleCommand.self, AppExpireCommand.self,
            AppNotificationsCommand.self,
            AppLocationCommand.self, AppQuitCommand.self, AppKillCommand.self, AppLogCommand.self,
            AppSnapshotCommand.self,
        ])
}

extension Invocation {
    var appReport: AppReport {
        AppReport(times: times, style: Style(isEnabled: output.allowsColor))
    }

    /// Asks the service to do something to the app and says how the app is then.
    func changeApp(
        _ argument: AppArgument, json: Bool, by change: (AppID) -> Endpoint<AppStatus>
    ) async throws -> ExitStatus {
        try await service.ready()
        let app = try await service.client.send(change(try appID(argument)))
        if json {
            try self.json(app)
        } else {
            output.line(appReport.line(changed: app))
        }
        return .whole
    }
}
