import Foundation
import UserNotifications

enum Reminders {
    /// Creates a notification request as apps do when a download has ended.
    static func request(_ title: String, in seconds: TimeInterval) -> UNNotificationRequest {
        let content = UNMutableNotificationContent()
        content.title = title
        content.sound = .default
        content.userInfo = ["url": "https://example.org"]
        let trigger = UNTimeIntervalNotificationTrigger(timeInterval: seconds, repeats: false)
        return UNNotificationRequest(identifier: UUID().uuidString, content: content, trigger: trigger)
    }
}
