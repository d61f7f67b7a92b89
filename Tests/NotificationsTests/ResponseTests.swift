import Foundation
import NightshiftAPI
import Notifications
import Testing

/// What a user has chosen, as the row of a wake has it.
@Suite struct ResponseTests {
    @Test(arguments: ["{}", "\u{1}"])
    func `A choice fits into its row, whatever the app has put into its notification`(
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
        // What says whether it comes to the front.
        #expect(read.notification.actions == [notification.actions[0]])
    }
}
