package import Foundation
package import NightshiftAPI
import PushProtocol

/// What the service reads in a push: the keys of `aps` that Apple documents. All else is the app's.
package struct PushPayload: Hashable, Sendable {
    package var title = ""
    package var subtitle = ""
    package var body = ""
    package var badge: Int?
    package var sound: String?
    package var thread = ""
    package var category = ""
    package var level = AppNotification.Level.active
    /// The JSON object as it came.
    package var text: String

    /// The facts that the gateway reads in it, too.
    private let facts: PayloadFacts

    /// Nil where the payload is no JSON object. A key of the wrong kind counts as absent.
    package init?(_ bytes: [UInt8]) {
        guard let facts = PayloadFacts(bytes), let text = String(validating: bytes, as: UTF8.self),
            // As apps read it, also where a name occurs twice.
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
            // Without the app's table of texts a key is shown itself.
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

    /// Whether there is something for the user: a text, a sound or a badge.
    package var hasAlert: Bool { facts.isVisible }

    package var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }

    /// Whether the app is to fetch what is new.
    package var wakesApp: Bool { facts.isContentAvailable }

    /// Only for the app (Apple: a background notification).
    package var isSilent: Bool { wakesApp && !hasAlert }

    /// As it is shown.
    ///
    /// - Parameter identifier: the push's collapse id, else its id.
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

    /// A text of at most ``Limits/notificationText`` bytes, cut between characters.
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
