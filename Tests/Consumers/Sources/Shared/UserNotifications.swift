import Foundation
import Harness

#if canImport(UIKit)
    import UIKit
#else
    import NightshiftUIKit
#endif
#if canImport(UserNotifications)
    import UserNotifications
#else
    import Nightshift
#endif

// The notification center as apps use it. The service here knows no desktop entry of this program, and no desktop shows
// notifications. The tests check that the service answers, but not the contents of its answers.

/// An app delegate that is the center's delegate too, with completion handlers.
private final class ChatAppDelegate: UIResponder, UIApplicationDelegate {
    var openedChat: String?

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        let center = UNUserNotificationCenter.current()
        center.delegate = self
        registerCategories()
        center.requestAuthorization(options: [.alert, .sound, .badge, .provisional]) { granted, error in
            if let error = error { print("permission: \(error)") }
            guard granted else { return }
            DispatchQueue.main.async { UIApplication.shared.registerForRemoteNotifications() }
        }
        return true
    }

    private func registerCategories() {
        let acceptAction = UNNotificationAction(
            identifier: "ACCEPT_ACTION", title: "Accept", options: UNNotificationActionOptions(rawValue: 0))
        let declineAction = UNNotificationAction(
            identifier: "DECLINE_ACTION", title: "Decline", options: [.destructive, .authenticationRequired])
        let meetingInviteCategory = UNNotificationCategory(
            identifier: "MEETING_INVITATION", actions: [acceptAction, declineAction], intentIdentifiers: [],
            options: .customDismissAction)
        UNUserNotificationCenter.current().setNotificationCategories([meetingInviteCategory])
    }
}

extension ChatAppDelegate: @preconcurrency UNUserNotificationCenterDelegate {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
        if notification.request.content.categoryIdentifier == "MEETING_INVITATION" {
            completionHandler(.sound)
            return
        }
        completionHandler(UNNotificationPresentationOptions(rawValue: 0))
    }

    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        let userInfo = response.notification.request.content.userInfo
        openedChat = userInfo["MEETING_ID"] as? String
        switch response.actionIdentifier {
        case "ACCEPT_ACTION", "DECLINE_ACTION": break
        case UNNotificationDefaultActionIdentifier, UNNotificationDismissActionIdentifier: break
        default: break
        }
        completionHandler()
    }
}

/// A delegate isolated to the main actor, with asynchronous methods.
@MainActor private final class AwaitingDelegate: NSObject, UNUserNotificationCenterDelegate {
    private(set) var opened: [String] = []

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions {
        guard notification.request.trigger is UNPushNotificationTrigger else { return [] }
        return [.banner, .list, .sound, .badge]
    }

    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
    ) async {
        let identifier = response.notification.request.identifier
        await open(identifier)
    }

    private func open(_ identifier: String) { opened.append(identifier) }
}

/// A delegate class that is not isolated to an actor.
private final class PlainDelegate: NSObject, UNUserNotificationCenterDelegate {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
        completionHandler([.alert, .badge, .sound])
    }

    func userNotificationCenter(_ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?) {}
}

/// Apple's listing for a notification at a certain time.
private func reminder(_ title: String, after seconds: TimeInterval) -> UNNotificationRequest {
    let content = UNMutableNotificationContent()
    content.title = title
    content.body = "Every Tuesday at 2pm"
    content.sound = UNNotificationSound.default
    content.badge = 1
    content.userInfo = ["MEETING_ID": "abc"]
    content.threadIdentifier = "meetings"
    content.categoryIdentifier = "MEETING_INVITATION"
    content.interruptionLevel = .timeSensitive
    let trigger = UNTimeIntervalNotificationTrigger(timeInterval: seconds, repeats: false)
    return UNNotificationRequest(identifier: UUID().uuidString, content: content, trigger: trigger)
}

func userNotifications() async {
    await situation("an app delegate that is the delegate of the notification center") {
        try await MainActor.run {
            let delegate = ChatAppDelegate()
            _ = delegate.application(UIApplication.shared, didFinishLaunchingWithOptions: nil)
            try expect(UNUserNotificationCenter.current().delegate === delegate, "it is another")
        }
        // The center does not retain its delegate.
        try expect(UNUserNotificationCenter.current().delegate == nil, "it was held")
    }
    await situation("delegates of the notification center in other forms") {
        try await MainActor.run {
            let center = UNUserNotificationCenter.current()
            let (awaiting, plain) = (AwaitingDelegate(), PlainDelegate())
            center.delegate = awaiting
            try expect(center.delegate === awaiting, "it is another")
            center.delegate = plain
            try expect(center.delegate === plain, "it is another")
            center.delegate = nil
        }
    }
    await situation("categories of notifications") {
        let center = UNUserNotificationCenter.current()
        let categories = await center.notificationCategories()
        try expectEqual(categories.map(\.identifier), ["MEETING_INVITATION"])
        try expectEqual(categories.first?.actions.map(\.identifier), ["ACCEPT_ACTION", "DECLINE_ACTION"])
        let count = Outcome<Int>("the categories")
        center.getNotificationCategories { count.give($0.count) }
        try expectEqual(try await count.value(), 1)
    }
    await situation("a reminder that is added with a closure") {
        let answer = Outcome<Bool>("the answer")
        let center = UNUserNotificationCenter.current()
        center.add(reminder("Weekly Staff Meeting", after: 3_600)) { (error) in
            if error != nil {
                // Handle any errors.
            }
            answer.give(true)
        }
        try expect(try await answer.value(), "no answer")
        center.removeAllPendingNotificationRequests()
    }
    await situation("a reminder that is added with await, listed and removed") {
        let center = UNUserNotificationCenter.current()
        let request = reminder("Weekly Staff Meeting", after: 3_600)
        do {
            try await center.add(request)
            let pending = await center.pendingNotificationRequests()
            try expect(pending.contains { $0.identifier == request.identifier }, "it does not wait")
        } catch UNError.notificationsNotAllowed {
            // The error is expected without permission or without a desktop entry.
        }
        center.removePendingNotificationRequests(withIdentifiers: [request.identifier])
        let pending = await center.pendingNotificationRequests()
        try expect(!pending.contains { $0.identifier == request.identifier }, "it still waits")
    }
    await situation("delivered notifications and their removal") {
        let center = UNUserNotificationCenter.current()
        center.removeDeliveredNotifications(withIdentifiers: ["nobody"])
        center.removeAllDeliveredNotifications()
        let count = Outcome<Int>("the notifications")
        center.getDeliveredNotifications { notifications in
            count.give(notifications.filter { $0.request.content.badge != nil && $0.date <= Date() }.count)
        }
        try expectEqual(try await count.value(), 0)
        let delivered = await center.deliveredNotifications()
        try expect(delivered.isEmpty, "something is shown")
    }
    await situation("the settings of notifications, with a closure and with await") {
        let status = Outcome<UNAuthorizationStatus>("the settings")
        UNUserNotificationCenter.current().getNotificationSettings { settings in
            switch settings.authorizationStatus {
            case .authorized, .provisional, .ephemeral, .denied, .notDetermined: break
            @unknown default: break
            }
            if settings.alertSetting == .enabled, settings.soundSetting != .enabled { print("quiet") }
            status.give(settings.authorizationStatus)
        }
        let settings = await UNUserNotificationCenter.current().notificationSettings()
        try expectEqual(settings.authorizationStatus, try await status.value())
    }
    await situation("a badge with a closure, with await, and with an invalid value") {
        let center = UNUserNotificationCenter.current()
        let answer = Outcome<Bool>("the answer")
        center.setBadgeCount(0) { _ in answer.give(true) }
        _ = try await answer.value()
        do {
            try await center.setBadgeCount(-1)
            throw Broken("it was taken")
        } catch let error as UNError {
            try expectEqual(error.code, .badgeInputInvalid)
        }
    }
}
