public import Foundation
import NightshiftAPI

/// The center for the app's notifications. It manages the app's permission, the notifications that the app makes
/// itself, and remote notifications.
///
/// The desktop shows the notifications on behalf of the service. You can call the methods on any thread, and they do
/// not block. Calls are executed in order, and completion handlers are called on any thread. If the service cannot be
/// reached, changes are sent when it can be reached again.
public final class UNUserNotificationCenter: NSObject, Sendable {
    private static let shared = UNUserNotificationCenter(connection: .shared)

    private let connection: ServiceConnection

    package init(connection: ServiceConnection) {
        self.connection = connection
        super.init()
        connection.presenter.setCenter(self)
    }

    /// Returns the notification center of this process.
    public class func current() -> UNUserNotificationCenter { shared }

    /// The delegate that receives notifications and responses. Set the delegate before the app's launch ends. The
    /// center does not retain the delegate.
    public var delegate: (any UNUserNotificationCenterDelegate)? {
        get { connection.presenter.delegate }
        set { connection.presenter.setDelegate(newValue) }
    }

    private func run(_ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async throws {
        let error = await withCheckedContinuation { continuation in
            call { continuation.resume(returning: $0) }
        }
        if let error { throw error }
    }

    // MARK: - Permission

    /// Asks the user whether the app may show notifications. The user is asked once. Later calls return the existing
    /// answer.
    ///
    /// - Parameters:
    ///   - options: The options. With ``UNAuthorizationOptions/provisional``, the user is not asked. The other options
    ///     have no effect.
    ///   - completionHandler: A handler that is called when the user has decided. It gets `false` without an error if
    ///     the user refused.
    @preconcurrency public func requestAuthorization(
        options: UNAuthorizationOptions = [], completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        connection.notifications.requestAuthorization(isProvisional: options.contains(.provisional)) {
            completionHandler($0, $1)
        }
    }

    /// Asks the user whether the app may show notifications, and waits for the user's decision. This is the
    /// asynchronous form of ``requestAuthorization(options:completionHandler:)``.
    @discardableResult
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
        let (isGranted, error) = await withCheckedContinuation { continuation in
            requestAuthorization(options: options) { continuation.resume(returning: ($0, $1)) }
        }
        if let error { throw error }
        return isGranted
    }

    /// Reads the user's settings for the app's notifications.
    ///
    /// - Parameter completionHandler: A handler that gets the settings. If the service cannot be reached, the
    ///   authorization status is `notDetermined` and the settings are `notSupported`.
    @preconcurrency public func getNotificationSettings(
        completionHandler: @escaping @Sendable (UNNotificationSettings) -> Void
    ) {
        connection.notifications.read { completionHandler(UNNotificationSettings($0)) }
    }

    public func notificationSettings() async -> UNNotificationSettings {
        await withCheckedContinuation { continuation in
            getNotificationSettings { continuation.resume(returning: $0) }
        }
    }

    // MARK: - Categories

    /// Sets the notification categories of the app, which define the actions of notifications. Call this method at
    /// every launch, with all categories.
    public func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {
        connection.notifications.setCategories(categories)
    }

    /// Calls the handler with the categories that this process has set.
    @preconcurrency public func getNotificationCategories(
        completionHandler: @escaping @Sendable (Set<UNNotificationCategory>) -> Void
    ) {
        let categories = connection.notifications.categories
        DispatchQueue.global().async { completionHandler(categories) }
    }

    public func notificationCategories() async -> Set<UNNotificationCategory> { connection.notifications.categories }

    // MARK: - The app's own notifications

    /// Shows a notification now, or at the time of its trigger. The notification replaces one with the same identifier.
    ///
    /// - Parameters:
    ///   - request: A request. Without a trigger, the notification is shown now. The trigger can be a
    ///     ``UNTimeIntervalNotificationTrigger`` or a ``UNCalendarNotificationTrigger``.
    ///   - completionHandler: A handler that is called when the service has accepted the request, or with a ``UNError``
    ///     if the request was refused.
    @preconcurrency public func add(
        _ request: UNNotificationRequest,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let completion: @Sendable (UNError?) -> Void = { completionHandler?($0) }
        guard let notification = request.content.notification(request.identifier, Date()) else {
            let error = UNError(
                .notificationInvalidNoContent,
                "The notification's userInfo has a value that is not a property-list type.")
            return DispatchQueue.global().async { completion(error) }
        }
        let delay: (interval: Double?, repeats: Bool)
        do throws(UNError) {
            delay = try request.delay(from: Date())
        } catch {
            let error = error
            return DispatchQueue.global().async { completion(error) }
        }
        connection.notifications.make(
            .add(notification, interval: delay.interval, repeats: delay.repeats), completion: completion)
    }

    public func add(_ request: UNNotificationRequest) async throws {
        try await run { add(request, withCompletionHandler: $0) }
    }

    /// Calls the handler with the pending requests. If the service cannot be reached, the array is empty.
    @preconcurrency public func getPendingNotificationRequests(
        completionHandler: @escaping @Sendable ([UNNotificationRequest]) -> Void
    ) {
        connection.notifications.read { notifications in
            completionHandler(notifications?.pending.map { UNNotificationRequest($0) } ?? [])
        }
    }

    public func pendingNotificationRequests() async -> [UNNotificationRequest] {
        await withCheckedContinuation { continuation in
            getPendingNotificationRequests { continuation.resume(returning: $0) }
        }
    }

    public func removePendingNotificationRequests(withIdentifiers identifiers: [String]) {
        connection.notifications.make(.remove(.pending, identifiers: Set(identifiers)))
    }

    public func removeAllPendingNotificationRequests() {
        connection.notifications.make(.remove(.pending, identifiers: nil))
    }

    // MARK: - Delivered notifications

    /// Calls the handler with the delivered notifications, both the app's own and remote ones. Notifications that the
    /// user has opened or dismissed are not included. If the service cannot be reached, the array is empty.
    @preconcurrency public func getDeliveredNotifications(
        completionHandler: @escaping @Sendable ([UNNotification]) -> Void
    ) {
        connection.notifications.read { notifications in
            completionHandler(notifications?.delivered.map { UNNotification($0) } ?? [])
        }
    }

    public func deliveredNotifications() async -> [UNNotification] {
        await withCheckedContinuation { continuation in
            getDeliveredNotifications { continuation.resume(returning: $0) }
        }
    }

    /// Removes delivered notifications from the screen. A repeating notification is removed only together with its
    /// request.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
        connection.notifications.make(.remove(.delivered, identifiers: Set(identifiers)))
    }

    /// Removes all delivered notifications from the screen. Repeating notifications are removed only together with
    /// their requests.
    public func removeAllDeliveredNotifications() {
        connection.notifications.make(.remove(.delivered, identifiers: nil))
    }

    // MARK: - The badge

    /// Sets the number on the app's icon. Only some desktops show the number.
    ///
    /// - Parameters:
    ///   - newBadgeCount: The number. 0 removes the number from the icon, and a negative number is an error.
    ///   - completionHandler: A handler that is called when the service has accepted the change, or with a ``UNError``
    ///     if the change was refused.
    @preconcurrency public func setBadgeCount(
        _ newBadgeCount: Int, withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let completion: @Sendable (UNError?) -> Void = { completionHandler?($0) }
        guard newBadgeCount >= 0 else {
            let error = UNError(.badgeInputInvalid, "The badge count must not be negative, but it is \(newBadgeCount).")
            return DispatchQueue.global().async { completion(error) }
        }
        connection.notifications.setBadge(newBadgeCount, completion: completion)
    }

    public func setBadgeCount(_ newBadgeCount: Int) async throws {
        try await run { setBadgeCount(newBadgeCount, withCompletionHandler: $0) }
    }
}
