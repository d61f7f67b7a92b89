import Foundation
import NightshiftAPI
import Notifications
import Testing

/// Tests of the user's response, as stored in the row of a wake.
@Suite struct ResponseTests {
    @Test(arguments: ["{}", "\u{1}"])
    func `A response fits into its row, whatever the notification contains`(
        userInfo: String
    ) throws {
        let name = String(repeating: "\u{1}", count: Limits.notificationIdentifierLength)
        let oneLetter = "a" + String(repeating: "\u{301}", count: 2_000)
        var notification = AppNotification(identifier: name, date: Date(timeIntervalSince1970: 0))
        (notification.title, notification.subtitle, notification.body) = (oneLetter, oneLetter, oneLetter)
        (notification.thread, notification.category, notification.sound) = (name, name, name)
        notification.userInfo = String(repeating: userInfo, count: Limits.notificationText / userInfo.utf8.count)
        notification.actions = (0..<Limits.notificationActions).map {
            AppNotification.Action(identifier: name, title: name, isForeground: $0 == 0)
        }
        let payload = try NotificationResponse(notification: notification, action: name).payload()
        #expect(payload.count <= 32_768)
        let read = try JSON.decode(NotificationResponse.self, from: payload)
        #expect(read.action == name && read.notification.identifier == name)
        // The row keeps the chosen action, which says whether the app enters the foreground.
        #expect(read.notification.actions == [notification.actions[0]])
    }
}
