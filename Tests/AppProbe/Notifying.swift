import Foundation
import Nightshift
import Synchronization

/// Handles the remote notifications of a probe, and its own notifications, according to its orders.
final class Notifying: NSObject, Sendable {
    private let order: NotificationOrder
    private let journal: Journal
    private struct State {
        /// A closure that executes the orders at the delegate's points. The conduct retains this object.
        var onPoint: (@Sendable (Point) -> Void)?
    }

    private let state = Mutex(State())

    init(_ orders: Orders, _ journal: Journal) {
        order = orders.notifications
        self.journal = journal
    }

    // MARK: - The launch

    /// Follows the orders for the launch. The probe calls this in `didFinishLaunching`.
    @MainActor func launched(
        _ application: Application, _ options: [Application.LaunchOptionsKey: Any]?, _ conduct: Conduct
    ) {
        state.withLock { $0.onPoint = { [weak conduct] in _ = conduct?.deeds(at: $0) } }
        if let userInfo = options?[.remoteNotification] as? [AnyHashable: Any] {
            journal.note(.launchedFor) { $0.text = Self.text(userInfo) }
        }
        let center = UNUserNotificationCenter.current()
        if order.hasDelegate { center.delegate = self }
        if !order.actions.isEmpty { center.setNotificationCategories([category]) }
        if order.asks { ask(center) }
        if order.registers { application.registerForRemoteNotifications() }
    }

    private var category: UNNotificationCategory {
        let actions = order.actions.map { identifier in
            UNNotificationAction(
                identifier: identifier, title: "Title of \(identifier)",
                options: identifier.hasSuffix("!") ? [.foreground] : [])
        }
        return UNNotificationCategory(
            identifier: NotificationOrder.category, actions: actions, intentIdentifiers: [],
            options: [.customDismissAction])
    }

    private func ask(_ center: UNUserNotificationCenter) {
        let options: UNAuthorizationOptions = order.isProvisional ? [.alert, .provisional] : [.alert, .sound, .badge]
        center.requestAuthorization(options: options) { [journal] isGranted, error in
            journal.note(.authorization) { $0.text = error?.localizedDescription ?? (isGranted ? "granted" : "denied") }
        }
    }

    func reach(_ point: Point) {
        if order.unregisters == point {
            DispatchQueue.main.async {
                MainActor.assumeIsolated { Application.shared.unregisterForRemoteNotifications() }
            }
        }
        for own in order.own where own.point == point { show(own) }
    }

    private func show(_ own: NotificationOrder.Own) {
        let content = UNMutableNotificationContent()
        content.title = own.title
        content.badge = own.badge.map { NSNumber(value: $0) }
        content.categoryIdentifier = order.actions.isEmpty ? "" : NotificationOrder.category
        let trigger = own.delay.map { UNTimeIntervalNotificationTrigger(timeInterval: $0, repeats: false) }
        let request = UNNotificationRequest(identifier: own.identifier, content: content, trigger: trigger)
        UNUserNotificationCenter.current().add(request) { [journal] error in
            journal.note(.added) { sighting in
                sighting.description = own.identifier
                sighting.code = error.map { ($0 as NSError).code }
                sighting.text = error?.localizedDescription
            }
        }
    }

    // MARK: - Remote notifications

    func registered(_ token: Data) {
        journal.note(.deviceToken) { $0.text = token.map { String(format: "%02x", $0) }.joined() }
    }

    func failedToRegister(_ error: any Error) {
        journal.note(.notRegisteredForPush) { sighting in
            sighting.domain = (error as NSError).domain
            sighting.code = (error as NSError).code
            sighting.text = error.localizedDescription
        }
    }

    func receive(
        _ userInfo: [AnyHashable: Any], _ completionHandler: @escaping @Sendable (BackgroundFetchResult) -> Void
    ) {
        journal.note(.received) { $0.text = Self.text(userInfo) }
        state.withLock(\.onPoint)?(.received)
        guard let result = order.fetch.result else { return }
        after(order.fetch.delay, order.fetch.gate) { [journal] in
            journal.note(.handled) { $0.text = "\(result)" }
            completionHandler(result)
        }
    }

    private static func text(_ userInfo: [AnyHashable: Any]) -> String {
        let object = userInfo as? [String: Any] ?? [:]
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}

extension Notifying: UNUserNotificationCenterDelegate {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
        journal.note(.presenting) { sighting in
            sighting.description = notification.request.identifier
            sighting.text = notification.request.content.title
        }
        guard let presentation = order.presentation else { return }
        after(0, order.presentationGate) {
            completionHandler(UNNotificationPresentationOptions(rawValue: UInt(presentation)))
        }
    }

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) {
        journal.note(.response) { sighting in
            sighting.description = response.notification.request.identifier
            sighting.text = response.actionIdentifier
        }
        state.withLock(\.onPoint)?(.responding)
        if order.completesResponses { completionHandler() }
    }
}
