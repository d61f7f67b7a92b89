package import Foundation
package import NightshiftAPI

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
    /// The app is to fetch what is new.
    package var wakesApp = false
    /// The JSON object as it came.
    package var text: String

    /// Nil where the payload is no JSON object. A key of the wrong kind counts as absent.
    package init?(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self),
            let root = try? JSONDecoder().decode(Root.self, from: Data(bytes))
        else { return nil }
        self.text = text
        guard let aps = root.aps else { return }
        switch aps.alert {
        case .text(let text): body = Self.bounded(text)
        case .parts(let parts):
            title = Self.bounded(parts["title"] ?? parts["title-loc-key"] ?? "")
            subtitle = Self.bounded(parts["subtitle"] ?? parts["subtitle-loc-key"] ?? "")
            // Without the app's table of texts a key stands for itself.
            body = Self.bounded(parts["body"] ?? parts["loc-key"] ?? "")
        case nil: break
        }
        badge = aps.badge.map { max(0, $0) }
        sound = aps.sound.map(Self.bounded)
        thread = Self.bounded(aps.thread ?? "")
        category = Self.bounded(aps.category ?? "")
        level =
            switch aps.level {
            case "passive": .passive
            case "time-sensitive": .timeSensitive
            case "critical": .critical
            default: .active
            }
        wakesApp = aps.wakesApp
    }

    /// Whether there is something for the user: a text, a sound or a badge.
    package var hasAlert: Bool { hasText || badge != nil || sound != nil }

    package var hasText: Bool { !title.isEmpty || !subtitle.isEmpty || !body.isEmpty }

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

    // MARK: - Reading

    private struct Root: Decodable {
        var aps: Aps?

        private enum CodingKeys: CodingKey { case aps }

        init(from decoder: any Decoder) throws {
            aps = try? decoder.container(keyedBy: CodingKeys.self).decode(Aps.self, forKey: .aps)
            // An array or a number has no container with keys.
            _ = try decoder.container(keyedBy: CodingKeys.self)
        }
    }

    private struct Aps: Decodable {
        enum Alert {
            case text(String)
            case parts([String: String])
        }

        var alert: Alert?
        var badge: Int?
        var sound: String?
        var thread: String?
        var category: String?
        var level: String?
        var wakesApp: Bool

        private enum CodingKeys: String, CodingKey {
            case alert, badge, sound, category, name
            case thread = "thread-id"
            case level = "interruption-level"
            case wakesApp = "content-available"
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            func text(_ key: CodingKeys) -> String? { try? values.decode(String.self, forKey: key) }
            if let text = text(.alert) {
                alert = text.isEmpty ? nil : .text(text)
            } else if let parts = try? values.decode([String: Text].self, forKey: .alert) {
                alert = .parts(parts.compactMapValues(\.text))
            }
            badge = try? values.decode(Int.self, forKey: .badge)
            sound = text(.sound)
            if sound == nil, let inner = try? values.nestedContainer(keyedBy: CodingKeys.self, forKey: .sound) {
                sound = try? inner.decode(String.self, forKey: .name)
            }
            if sound?.isEmpty == true { sound = nil }
            thread = text(.thread)
            category = text(.category)
            level = text(.level)
            wakesApp =
                (try? values.decode(Int.self, forKey: .wakesApp)) == 1
                || (try? values.decode(Bool.self, forKey: .wakesApp)) == true
        }
    }

    /// A value of an alert's dictionary; nil where it is no text.
    private struct Text: Decodable {
        var text: String?

        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }
}
