import Apps
package import NightshiftAPI
import Notifications
import Push

/// Operations of app processes and of users that concern remote notifications.
extension Operations {
    // MARK: - Requests of processes

    /// Requests the push token of the process's app. If the token is not available yet, it is sent later as an event.
    package func registerForPush(by process: CallingProcess) async throws(Problem) -> PushNotice {
        let app = try await caller(process, refusing: .remoteNotifications)
        _ = try await push.register(app, waits: false)
        return await push.notice(for: app) ?? PushNotice()
    }

    package func unregisterForPush(by process: CallingProcess) async throws(Problem) {
        try await push.unregister(try caller(process, refusing: .remoteNotifications))
    }

    // MARK: - Requests of users

    /// Sets whether an app's notifications are shown.
    package func change(_ app: AppID, _ change: AppPushChange) async throws(Problem) -> AppPushStatus {
        if let alerts = change.alerts {
            // This call reports an unknown app before the service stores anything for it.
            _ = try await push.status(of: app)
            try await notifications.setPermission(alerts, of: app)
        }
        return try await push.status(of: app)
    }
}
