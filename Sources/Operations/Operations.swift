package import Apps
package import Location
package import NightshiftAPI
package import Notifications
package import Push
package import Refresh
package import Transfers

/// Operations that need two of transfers, apps, background refresh, location, notifications and remote notifications at once,
/// joined below every front end.
///
/// A front end (the local API, and whatever else will offer the same) asks one part where one is enough, and asks here where
/// it is not: it translates, and joins nothing itself. Each operation is atomic: whatever of another one happens meanwhile
/// comes before all of it or after all of it. `docs/decisions/0035` says how. Every method throws ``Problem`` and nothing else.
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

    /// Accepts all tasks of the request, or none. Where they are for an app, that has to be one that can be launched for them.
    package func enqueue(_ request: EnqueueRequest) async throws(Problem) -> [TaskID] {
        try await accept(request).ids
    }

    /// As ``enqueue(_:)``, with the tasks that were there before.
    package func accept(_ request: EnqueueRequest) async throws(Problem) -> EnqueueResponse {
        if let app = request.app { try await apps.mayBeGivenTasks(app) }
        return try await transfers.accept(request)
    }

    /// Cancels and forgets all tasks of the session, then the session, and with it what its app would be woken for.
    package func removeSession(_ id: SessionID) async throws(Problem) {
        let app = try await transfers.session(id).app
        try await transfers.removeSession(id)
        if let app { await apps.sessionRemoved(of: app) }
    }
}
