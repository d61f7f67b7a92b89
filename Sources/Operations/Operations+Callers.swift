import Apps
import NightshiftAPI

/// The identification of calling processes.
extension Operations {
    /// The operations for which an app needs a desktop entry.
    enum EntryUse {
        /// Launching: only apps with an entry can be launched.
        case launches
        /// Permission: the user knows the app by its entry.
        case permission
        /// Notifications: only apps with an entry have a name to show and can be launched by a choice.
        case notifications
        /// Remote notifications: the entry's name is the topic.
        case remoteNotifications
    }

    /// Returns the app of a process. The app must have a desktop entry.
    ///
    /// - Parameters:
    ///   - channel: the stream of commands that the process believes to have; nil if it does not say.
    ///   - use: the operation that is refused to a program without an entry.
    func caller(_ process: Int32, _ channel: String?, refusing use: EntryUse) async throws(Problem) -> AppID {
        let app = try await apps.connectedProcess(process, channel: channel).app
        guard !app.isProgram else { throw use.refusal(of: app) }
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
