public import Foundation
import NightshiftAPI

/// A category of notifications, with the actions that the user can choose from.
public final class UNNotificationCategory: NSObject, NSCopying, Sendable {
    public let identifier: String
    public let actions: [UNNotificationAction]
    /// The intent identifiers. They are stored, but have no effect on this system.
    public let intentIdentifiers: [String]
    public let options: UNNotificationCategoryOptions

    public init(
        identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) {
        self.identifier = identifier
        self.actions = actions
        self.intentIdentifiers = intentIdentifiers
        self.options = options
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? UNNotificationCategory else { return false }
        return identifier == other.identifier && actions == other.actions
            && intentIdentifiers == other.intentIdentifiers && options == other.options
    }

    public override var hash: Int { identifier.hashValue }

    var category: NotificationCategories.Category {
        NotificationCategories.Category(
            identifier: identifier, actions: actions.map(\.action),
            tellsOfDismissal: options.contains(.customDismissAction))
    }
}

/// An action that the user can choose in a notification.
public class UNNotificationAction: NSObject, NSCopying, @unchecked Sendable {
    // This class is unchecked because of its subclass. No property changes.

    public let identifier: String
    public let title: String
    public let options: UNNotificationActionOptions

    public init(identifier: String, title: String, options: UNNotificationActionOptions = []) {
        self.identifier = identifier
        self.title = title
        self.options = options
    }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? UNNotificationAction else { return false }
        return identifier == other.identifier && title == other.title && options == other.options
    }

    public override var hash: Int { identifier.hashValue }

    var action: AppNotification.Action {
        AppNotification.Action(identifier: identifier, title: title, isForeground: options.contains(.foreground))
    }
}

/// An action for which the user enters a text.
///
/// The desktop shows the action as a button without a text field, because freedesktop's notifications have no text
/// fields. The delegate gets a plain ``UNNotificationResponse`` with the action's identifier. If the action has
/// ``UNNotificationActionOptions/foreground``, the app can then show a text field in its own window.
public final class UNTextInputNotificationAction: UNNotificationAction, @unchecked Sendable {
    public let textInputButtonTitle: String
    public let textInputPlaceholder: String

    public init(
        identifier: String, title: String, options: UNNotificationActionOptions = [], textInputButtonTitle: String,
        textInputPlaceholder: String
    ) {
        self.textInputButtonTitle = textInputButtonTitle
        self.textInputPlaceholder = textInputPlaceholder
        super.init(identifier: identifier, title: title, options: options)
    }
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// An option for categories whose notifications report to the app's delegate when the user dismisses them.
    public static let customDismissAction = UNNotificationCategoryOptions(rawValue: 1 << 0)
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// An option without effect, because the desktop decides about authentication.
    public static let authenticationRequired = UNNotificationActionOptions(rawValue: 1 << 0)
    /// An option without effect, because the desktop decides about the appearance.
    public static let destructive = UNNotificationActionOptions(rawValue: 1 << 1)
    /// An option for actions that bring the app to the foreground. Without this option, the app is launched in the
    /// background.
    public static let foreground = UNNotificationActionOptions(rawValue: 1 << 2)
}
