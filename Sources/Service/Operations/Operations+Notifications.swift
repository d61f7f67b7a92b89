import Apps
package import NightshiftAPI
import Notifications
import Push

/// Operations of app processes that concern notifications.
extension Operations {
    /// Returns the notification state of the process's app.
    package func processNotifications(by process: CallingProcess) async throws(Problem) -> ProcessNotifications {
        await notifications.processNotifications(of: try caller(process, refusing: .notifications))
    }

    /// Asks the user whether notifications of the app are shown, unless the user has already decided. Returns after the
    /// decision.
    package func requestNotifications(
        _ request: NotificationAuthorizationRequest, by process: CallingProcess
    ) async throws(Problem) -> ProcessNotifications {
        let app = try await caller(process, refusing: .notifications)
        _ = try await notifications.requestAuthorization(isProvisional: request.isProvisional, for: app)
        return await notifications.processNotifications(of: app)
    }

    package func notify(
        _ request: NotificationRequest, by process: CallingProcess
    ) async throws(Problem) {
        try await notifications.add(request, for: try caller(process, refusing: .notifications))
    }

    /// Removes notifications of the process's app. Without identifiers, all notifications are removed.
    ///
    /// - Parameter isShown: Whether to remove shown or pending notifications; nil removes both.
    package func removeNotifications(
        _ identifiers: [String]?, isShown: Bool? = nil, by process: CallingProcess
    ) async throws(Problem) {
        try await notifications.remove(
            identifiers, of: try caller(process, refusing: .notifications), isShown: isShown)
    }

    package func set(
        _ categories: NotificationCategories, by process: CallingProcess
    ) async throws(Problem) {
        try await notifications.setCategories(categories, for: try caller(process, refusing: .notifications))
    }

    package func set(_ badge: BadgeChange, by process: CallingProcess) async throws(Problem) {
        try await notifications.setBadge(badge.count, for: try caller(process, refusing: .notifications))
    }
}
