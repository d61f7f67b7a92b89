import ArgumentParser
import NightshiftAPI
import NightshiftClient

struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Install, launch and inspect apps that work in the background.",
        discussion: """
            An app is a program with a desktop entry. X-Nightshift-BackgroundModes in the entry lists the kinds of work \
            that the app may be launched for. The service wakes the app when its transfers have ended, and suspends it \
            when its work is done. If the app does not run, the service launches it.

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

    /// Requests a change of an app from the service, and prints the app's new state.
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
