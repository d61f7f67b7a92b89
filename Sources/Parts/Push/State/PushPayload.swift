package import Foundation
package import NightshiftAPI
import PushProtocol

/// The payload of a push, as far as the service reads it: the keys of `aps` that Apple documents. All other keys are
/// for the app.
package struct PushPayload: Hashable, Sendable {
    package var title = ""
    package var subtitle = ""
    package var body = ""
    package var badge: Int?
    package var sound: String?
    package var thread = ""
    package var category = ""
    package var level = AppNotification.Level.active
    /// The JSON object as received.
    package var text: String

    /// The properties of the payload that the gateway reads too.
    private let facts: PayloadFacts

    /// Parses a payload. Returns nil if the payload is not a JSON object. A key with a value of the wrong type counts
    /// as missing.
    package init?(_ bytes: [UInt8]) {
        guard let facts = PayloadFacts(bytes), let text = String(validating: bytes, as: UTF8.self),
            // JSONSerialization is used because apps use it too, and a repeated name then has the same value for both.
            let root = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { return nil }
        self.text = text
        self.facts = facts
        guard let aps = root["aps"] as? [String: Any] else { return }
        func visible(_ value: Any?) -> String? {
            guard let text = value as? String, text.hasVisibleCharacters else { return nil }
            return Self.bounded(text)
        }
        if let alert = aps["alert"] as? [String: Any] {
            title = visible(alert["title"]) ?? visible(alert["title-loc-key"]) ?? ""
            subtitle = visible(alert["subtitle"]) ?? visible(alert["subtitle-loc-key"]) ?? ""
            // The service cannot read the app's localised texts, so the key itself is shown.
            body = visible(alert["body"]) ?? visible(alert["loc-key"]) ?? ""
        } else {
            body = visible(aps["alert"]) ?? ""
        }
        badge = (aps["badge"] as? NSNumber).flatMap { Int(exactly: $0.doubleValue.rounded(.towardZero)) }
            .map { max(0, $0) }
        sound = visible(aps["sound"]) ?? visible((aps["sound"] as? [String: Any])?["name"])
        thread = visible(aps["thread-id"]) ?? ""
        category = visible(aps["category"]) ?? ""
        level =
            switch aps["interruption-level"] as? String {
            case "passive": .passive
            case "time-sensitive": .timeSensitive
            case "critical": .critical
            default: .active
            }
    }

    /// Whether the payload has content that the user notices: a text, a sound or a badge.
    package var hasAlert: Bool { facts.isVisible }

    package var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }

    /// Whether the app is woken to fetch new content.
    package var wakesApp: Bool { facts.isContentAvailable }

    /// Whether the push only wakes the app and shows nothing (Apple: a background notification).
    package var isSilent: Bool { wakesApp && !hasAlert }

    /// Returns the notification to show.
    ///
    /// - Parameter identifier: the push's collapse id, or its id if it has none.
    package func notification(identifier: String, date: Date) -> AppNotification {
        var notification = AppNotification(identifier: identifier, date: date)
        notification.title = title
        notification.subtitle = subtitle
        notification.body = body
        notification.badge = badge
        notification.sound = sound
        notification.thread = thread
        notification.category = category
        notification.level = level
        notification.userInfo = text
        notification.isRemote = true
        return notification
    }

    /// Returns the text, shortened between two characters to at most ``Limits/notificationText`` bytes.
    private static func bounded(_ text: String) -> String {
        guard text.utf8.count > Limits.notificationText else { return text }
        var cut = ""
        var bytes = 0
        for character in text {
            bytes += character.utf8.count
            guard bytes <= Limits.notificationText else { break }
            cut.append(character)
        }
        return cut
    }
}
