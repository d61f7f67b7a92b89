public import Foundation

/// The sound of a notification.
public final class UNNotificationSound: NSObject, NSCopying, Sendable {
    /// The name that the service uses for the sound.
    let name: String

    init(name: String) {
        self.name = name
    }

    /// Makes a sound from its name in the desktop's sound theme.
    public convenience init(named name: UNNotificationSoundName) {
        self.init(name: name.rawValue)
    }

    /// The desktop's default sound for notifications.
    public class var `default`: UNNotificationSound { UNNotificationSound(name: "default") }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool { (object as? UNNotificationSound)?.name == name }

    public override var hash: Int { name.hashValue }
}

/// The name of a sound.
public struct UNNotificationSoundName: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}
