package import Apps
package import Location
package import NightshiftAPI
package import Notifications
package import Push
package import Refresh
package import Transfers

/// Operations that need several parts at once: transfers, apps, background refresh, location, notifications and remote
/// notifications.
///
/// A front end (the local API, and any other front end with the same operations) calls a single part if one is enough,
/// and calls this type otherwise. It only translates, and never combines parts itself. Each operation is atomic: other
/// operations come entirely before or entirely after it. `docs/decisions/0035` describes how. Every method throws only
/// ``Problem``.
package struct Operations: Sendable {
    package let transfers: TransferService
    package let apps: AppService
    package let refresh: RefreshService
    package let location: LocationService
    package let notifications: NotificationService
    package let push: PushService

    package init(
        transfers: TransferService, apps: AppService, refresh: RefreshService, location: LocationService,
        notifications: NotificationService, push: PushService
    ) {
        self.transfers = transfers
        self.apps = apps
        self.refresh = refresh
        self.location = location
        self.notifications = notifications
        self.push = push
    }

    /// Accepts all tasks of the request, or none. If they are for an app, the app must be launchable for them.
    package func enqueue(_ request: EnqueueRequest) async throws(Problem) -> [TaskID] {
        try await accept(request).ids
    }

    /// Like ``enqueue(_:)``, and also returns the existing tasks to which requests were joined.
    package func accept(_ request: EnqueueRequest) async throws(Problem) -> EnqueueResponse {
        if let app = request.app { try await apps.mayBeGivenTasks(app) }
        return try await transfers.accept(request)
    }

    /// Cancels and deletes all tasks of the session, then deletes the session and the pending wakes for it.
    package func removeSession(_ id: SessionID) async throws(Problem) {
        let app = try await transfers.session(id).app
        try await transfers.removeSession(id)
        if let app { await apps.sessionRemoved(of: app) }
    }
}
