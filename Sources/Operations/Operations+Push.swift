import Apps
package import NightshiftAPI
import Notifications
import Push

/// Operations of apps' processes, and of people on apps, over remote notifications.
extension Operations {
    // MARK: - What a process asks

    /// Has the token of the process's app asked for, which comes as an event where it is not there yet.
    package func registerForPush(process: Int32, channel: String?) async throws(Problem) -> PushNotice {
        let app = try await caller(process, channel, refusing: .remoteNotifications)
        _ = try await push.register(app, waits: false)
        return await push.notice(for: app) ?? PushNotice()
    }

    package func unregisterForPush(process: Int32, channel: String?) async throws(Problem) {
        try await push.unregister(try caller(process, channel, refusing: .remoteNotifications))
    }

    // MARK: - What people ask

    /// Its user says whether an app's notifications are shown.
    package func change(_ app: AppID, _ change: AppPushChange) async throws(Problem) -> AppPushStatus {
        if let alerts = change.alerts {
            // Whoever names an app that is not there is told so before anything is kept of it.
            _ = try await push.status(of: app)
            try await notifications.setPermission(alerts, of: app)
        }
        return try await push.status(of: app)
    }
}
