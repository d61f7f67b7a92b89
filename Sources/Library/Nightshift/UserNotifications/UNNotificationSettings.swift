public import Foundation
import NightshiftAPI

/// The settings of the user for the app's notifications.
public final class UNNotificationSettings: NSObject, NSCopying, Sendable {
    public let authorizationStatus: UNAuthorizationStatus
    public let alertSetting: UNNotificationSetting
    public let badgeSetting: UNNotificationSetting
    public let soundSetting: UNNotificationSetting
    public let notificationCenterSetting: UNNotificationSetting
    /// The setting for the lock screen. It is always `notSupported`, because the desktop decides what its lock screen
    /// shows.
    public let lockScreenSetting: UNNotificationSetting
    /// The setting for critical alerts. It is always `notSupported`. See ``UNAuthorizationOptions/criticalAlert``.
    public var criticalAlertSetting: UNNotificationSetting { .notSupported }

    /// Makes the settings from the service's state.
    ///
    /// - Parameter notifications: The service's state, or nil if the service cannot be reached.
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

/// The permission of the app to show notifications.
public enum UNAuthorizationStatus: Int, Sendable {
    /// The status before the user has been asked.
    case notDetermined = 0
    case denied = 1
    case authorized = 2
    /// The status of an app that may show notifications without a sound. The user was not asked.
    case provisional = 3
    /// A status that is never used on this system.
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
    /// The value for a setting that the system does not support, for example because the desktop has no notification
    /// server.
    case notSupported = 0
    case disabled = 1
    case enabled = 2
}

/// The options that the app requests from the user.
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    public static let badge = UNAuthorizationOptions(rawValue: 1 << 0)
    public static let sound = UNAuthorizationOptions(rawValue: 1 << 1)
    public static let alert = UNAuthorizationOptions(rawValue: 1 << 2)
    /// An option without effect, for source compatibility. Desktops have no critical alerts. A notification of the
    /// level ``UNNotificationInterruptionLevel/critical`` remains on the screen until the user responds, as freedesktop
    /// defines for the urgency *critical*.
    public static let criticalAlert = UNAuthorizationOptions(rawValue: 1 << 4)
    /// An option to show notifications without a sound and without asking the user.
    public static let provisional = UNAuthorizationOptions(rawValue: 1 << 6)
}
