package import Apps
package import Location
package import NightshiftAPI
package import Notifications
package import Push
package import Refresh
package import Transfers

/// Operations that need several features at once: transfers, apps, background refresh, location, notifications and
/// remote notifications.
///
/// A front end, such as the local API, calls a single feature if that is enough, and otherwise calls this type. A front
/// end only translates, and never combines features itself. Each operation is atomic: other operations happen entirely
/// before or entirely after it. `docs/decisions/0035` describes the method. Every operation throws only ``Problem``.
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

    /// Accepts all tasks of the request, or none of them. If the tasks are for an app, the app must have a desktop
    /// entry that allows launching it for them.
    package func enqueue(_ request: EnqueueRequest) async throws(Problem) -> [TaskID] {
        try await accept(request).ids
    }

    /// Accepts tasks like ``enqueue(_:)``, and also returns the existing tasks that were reused for requests with the
    /// same content.
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
