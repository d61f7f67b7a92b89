import Apps
import NightshiftAPI

/// Operations that identify calling processes.
extension Operations {
    /// The operations that an app can use only with a desktop entry.
    enum EntryUse {
        /// The launch of the app in the background. Only apps with an entry can be launched.
        case launches
        /// The permissions of the app. The user recognises the app by its entry.
        case permission
        /// The notifications of the app. Only an app with an entry has a name to show, and only such an app can be
        /// launched when the user chooses a notification.
        case notifications
        /// The remote notifications of the app. The name of the entry is the topic.
        case remoteNotifications
    }

    /// Returns the app of a process, when the parts know all events of apps so far. Otherwise a part could decide about
    /// a request of an app that has come to the foreground as if the app were in the background. The app must have a
    /// desktop entry.
    ///
    /// - Parameter use: The operation for which the entry is needed. It decides the message if the entry is missing.
    func caller(_ process: CallingProcess, refusing use: EntryUse) async throws(Problem) -> AppID {
        let app = try await apps.connectedProcess(process.id, channel: process.channel).app
        guard !app.isProgram else { throw use.refusal(of: app) }
        await apps.events.handled()
        return app
    }
}

extension Operations.EntryUse {
    fileprivate func refusal(of app: AppID) -> Problem {
        let detail =
            "\(app) has no desktop entry, so \(consequence). Run 'nightshift app install FILE' to install one."
        return switch self {
        case .launches: .taskNotPermitted(detail)
        case .permission, .notifications, .remoteNotifications: .forbidden(detail)
        }
    }

    private var consequence: String {
        switch self {
        case .launches: "it cannot be launched in the background"
        case .permission: "it cannot be given permission"
        case .notifications: "it cannot show notifications"
        case .remoteNotifications: "it cannot receive remote notifications"
        }
    }
}
