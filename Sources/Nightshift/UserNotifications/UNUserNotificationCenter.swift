public import Foundation
import NightshiftAPI

/// The app's notifications: its permission, those that it makes itself, and those that come for it.
///
/// Shown by the desktop, through the service. For any thread: nothing waits, calls are served in order, and
/// completion handlers are called on any thread. What cannot be told because there is no service is told when there
/// is one.
public final class UNUserNotificationCenter: NSObject, Sendable {
    private static let shared = UNUserNotificationCenter(connection: .shared)

    private let connection: ServiceConnection

    package init(connection: ServiceConnection) {
        self.connection = connection
        super.init()
        connection.presenter.setCenter(self)
    }

    /// The one of this process.
    public class func current() -> UNUserNotificationCenter { shared }

    /// Hears of notifications; to be set before the app's launch ends. Not held.
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

    /// Asks the user whether the app may show notifications; once: later calls give the answer that there is.
    ///
    /// - Parameters:
    ///   - options: with ``UNAuthorizationOptions/provisional`` nobody is asked. The others make no difference.
    ///   - completionHandler: called when the user has decided; `false` without an error is their word.
    @preconcurrency public func requestAuthorization(
        options: UNAuthorizationOptions = [], completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        connection.notifications.requestAuthorization(isProvisional: options.contains(.provisional)) {
            completionHandler($0, $1)
        }
    }

    /// The same; waits for the user.
    @discardableResult
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
        let (isGranted, error) = await withCheckedContinuation { continuation in
            requestAuthorization(options: options) { continuation.resume(returning: ($0, $1)) }
        }
        if let error { throw error }
        return isGranted
    }

    /// - Parameter completionHandler: without a service it gets that nothing is decided or supported.
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

    /// Says which actions notifications of each category have; to be called at every launch, with all of them.
    public func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {
        connection.notifications.setCategories(categories)
    }

    /// Those that this process has set.
    @preconcurrency public func getNotificationCategories(
        completionHandler: @escaping @Sendable (Set<UNNotificationCategory>) -> Void
    ) {
        let categories = connection.notifications.categories
        DispatchQueue.global().async { completionHandler(categories) }
    }

    public func notificationCategories() async -> Set<UNNotificationCategory> { connection.notifications.categories }

    // MARK: - The app's own notifications

    /// Shows a notification, now or when its trigger says; one with the same identifier is replaced.
    ///
    /// - Parameters:
    ///   - request: without a trigger for now, or with a ``UNTimeIntervalNotificationTrigger`` or a ``UNCalendarNotificationTrigger``.
    ///   - completionHandler: called when the service has it, with a ``UNError`` where it is refused.
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

    /// Those that wait for their time; none without a service.
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

    // MARK: - Those that were shown

    /// Those that were shown, the app's own and remote ones, and that its user has neither opened nor dismissed; none
    /// without a service.
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

    /// Takes them off the screen. One that repeats and is pending again stays; it goes with its request.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
        connection.notifications.make(.remove(.delivered, identifiers: Set(identifiers)))
    }

    /// Takes all off the screen but those that repeat and are pending again.
    public func removeAllDeliveredNotifications() {
        connection.notifications.make(.remove(.delivered, identifiers: nil))
    }

    // MARK: - The badge

    /// Sets the number on the app's icon, where the desktop shows one.
    ///
    /// - Parameters:
    ///   - newBadgeCount: 0 takes it away; less is an error.
    ///   - completionHandler: called when the service has it, with a ``UNError`` where it is refused.
    @preconcurrency public func setBadgeCount(
        _ newBadgeCount: Int, withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let completion: @Sendable (UNError?) -> Void = { completionHandler?($0) }
        guard newBadgeCount >= 0 else {
            let error = UNError(.badgeInputInvalid, "A badge is 0 or more, not \(newBadgeCount).")
            return DispatchQueue.global().async { completion(error) }
        }
        connection.notifications.setBadge(newBadgeCount, completion: completion)
    }

    public func setBadgeCount(_ newBadgeCount: Int) async throws {
        try await run { setBadgeCount(newBadgeCount, withCompletionHandler: $0) }
    }
}
