import Apps
import NightshiftAPI

/// Whose process asks.
extension Operations {
    /// What an app needs a desktop entry for.
    enum EntryUse {
        /// Nothing else is launched.
        case launches
        /// Its user permits something to an app that he knows by its entry.
        case permission
        /// Nothing else has a name to show, and can be launched by a choice.
        case notifications
        /// The entry's name is its topic.
        case remoteNotifications
    }

    /// The app of a process, which has to be one with an entry.
    ///
    /// - Parameters:
    ///   - channel: the stream of commands that the process believes to have; nil where it does not say.
    ///   - use: what a program without an entry is refused.
    func caller(_ process: Int32, _ channel: String?, refusing use: EntryUse) async throws(Problem) -> AppID {
        let app = try await apps.connectedProcess(process, channel: channel).app
        guard !app.isProgram else { throw use.refusal(of: app) }
        return app
    }
}

extension Operations.EntryUse {
    fileprivate func refusal(of app: AppID) -> Problem {
        let detail =
            "\(app) has no desktop entry, so \(consequence). 'nightshift app install FILE' installs one."
        return switch self {
        case .launches: .taskNotPermitted(detail)
        case .permission, .notifications, .remoteNotifications: .forbidden(detail)
        }
    }

    private var consequence: String {
        switch self {
        case .launches: "it is not launched in the background"
        case .permission: "nothing can be permitted to it"
        case .notifications: "it has no notifications"
        case .remoteNotifications: "it gets no remote notifications"
        }
    }
}
