import Foundation
import NightshiftAPI

/// Samples of remote notifications and other notifications.
extension Sample {
    static var pushRequests: [Sample] {
        get throws {
            [
                try Sample(
                    PushEnrolmentRequest(url: "u", name: "n", authority: "a"), least: PushEnrolmentRequest(url: "u"),
                    isRequest: true),
                try Sample(AppPushChange(alerts: .allowed), least: AppPushChange(), isRequest: true),
                try Sample(
                    NotificationRequest(notification: notification, delay: 60, repeats: true),
                    least: NotificationRequest(notification: AppNotification(identifier: "i", date: date)),
                    isRequest: true),
                try Sample(
                    notification, least: AppNotification(identifier: "i", date: date), isRequest: true),
                try Sample(
                    NotificationAuthorizationRequest(isProvisional: true),
                    least: NotificationAuthorizationRequest(), isRequest: true),
                try Sample(
                    NotificationCategories(categories: [category]), least: NotificationCategories(categories: []),
                    isRequest: true),
                try Sample(BadgeChange(count: 3), least: BadgeChange(count: 0), isRequest: true),
            ]
        }
    }

    static var pushAnswers: [Sample] {
        get throws {
            var status = PushStatus(connection: .open, sentence: "s", apps: [app])
            status.enrolment = PushStatus.Enrolment(host: "h", port: 1, device: "d", enrolled: date)
            status.next = date
            status.keepAlive = 1
            status.lastHeard = date
            status.unifiedPush = [registration]
            var own = ProcessNotifications(permission: .allowed, canShow: true)
            own.delivered = [notification]
            own.pending = [NotificationRequest(notification: notification)]
            return [
                try Sample(status, least: PushStatus(connection: .off, sentence: "s", apps: [])),
                try Sample(app, least: AppPushStatus(app: AppID(rawValue: "a"), name: "n", alerts: .ask)),
                try Sample(registration, least: leastRegistration),
                try Sample(push, least: leastPush),
                try Sample(PushNotice(token: "t", error: "e"), least: PushNotice()),
                try Sample(own, least: ProcessNotifications(permission: .ask, canShow: false)),
            ]
        }
    }

    private static let leastPush = PushRecord(id: "i", received: date, priority: 5, isSilent: true, hasAlert: false)

    private static var push: PushRecord {
        var push = leastPush
        push.woken = date
        push.ended = date
        push.result = .newData
        push.shown = date
        push.alert = .shown
        return push
    }

    private static var app: AppPushStatus {
        var app = AppPushStatus(app: AppID(rawValue: "a"), name: "n", alerts: .allowed)
        app.token = "t"
        app.error = "e"
        app.waiting = push
        app.pushes = [push]
        app.unifiedPush = [registration]
        return app
    }

    private static let leastRegistration = UnifiedPushStatus(
        app: AppID(rawValue: "a"), about: "d", version: 2, sentence: "s")

    private static var registration: UnifiedPushStatus {
        var registration = leastRegistration
        registration.endpoint = "https://h/up/t"
        registration.waiting = 1
        registration.last = date
        return registration
    }

    private static let category = NotificationCategories.Category(
        identifier: "c", actions: [AppNotification.Action(identifier: "i", title: "t", isForeground: true)],
        tellsOfDismissal: true)

    private static var notification: AppNotification {
        var notification = AppNotification(identifier: "i", date: date)
        notification.badge = 1
        notification.sound = "s"
        notification.actions = category.actions
        return notification
    }
}
