public import Foundation
import NightshiftAPI

/// What the user lets the app's notifications do.
public final class UNNotificationSettings: NSObject, NSCopying, Sendable {
    public let authorizationStatus: UNAuthorizationStatus
    public let alertSetting: UNNotificationSetting
    public let badgeSetting: UNNotificationSetting
    public let soundSetting: UNNotificationSetting
    public let notificationCenterSetting: UNNotificationSetting
    /// The desktop's own business: not supported.
    public let lockScreenSetting: UNNotificationSetting
    /// Not supported; see ``UNAuthorizationOptions/criticalAlert``.
    public var criticalAlertSetting: UNNotificationSetting { .notSupported }

    /// - Parameter notifications: nil without a service.
    init(_ notifications: ProcessNotifications?) {
        let permission = notifications?.permission ?? .ask
        authorizationStatus = UNAuthorizationStatus(permission)
        let canShow = notifications?.canShow ?? false
        let isQuiet = permission == .provisional
        func setting(_ isOn: Bool) -> UNNotificationSetting { !canShow ? .notSupported : isOn ? .enabled : .disabled }
        alertSetting = setting(permission == .allowed)
        badgeSetting = setting(permission == .allowed)
        soundSetting = setting(permission == .allowed)
        notificationCenterSetting = setting(permission == .allowed || isQuiet)
        lockScreenSetting = .notSupported
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// Whether the app's notifications are shown.
public enum UNAuthorizationStatus: Int, Sendable {
    /// The user was not asked yet.
    case notDetermined = 0
    case denied = 1
    case authorized = 2
    /// Nobody was asked; shown without a sound.
    case provisional = 3
    /// Never said here.
    case ephemeral = 4

    init(_ permission: NotificationPermission) {
        self =
            switch permission {
            case .ask: .notDetermined
            case .denied: .denied
            case .allowed: .authorized
            case .provisional: .provisional
            }
    }
}

public enum UNNotificationSetting: Int, Sendable {
    /// There is nobody who could, such as a notification server of the desktop.
    case notSupported = 0
    case disabled = 1
    case enabled = 2
}

/// What the user is asked for.
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    public static let badge = UNAuthorizationOptions(rawValue: 1 << 0)
    public static let sound = UNAuthorizationOptions(rawValue: 1 << 1)
    public static let alert = UNAuthorizationOptions(rawValue: 1 << 2)
    /// Kept for source compatibility, without effect: desktops have no critical alerts. A notification of the level
    /// ``UNNotificationInterruptionLevel/critical`` stays on the screen until it is answered, as freedesktop's urgency *critical* has it.
    public static let criticalAlert = UNAuthorizationOptions(rawValue: 1 << 4)
    /// Nobody is asked; what comes is shown without a sound.
    public static let provisional = UNAuthorizationOptions(rawValue: 1 << 6)
}
