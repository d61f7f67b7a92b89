public import Foundation
import NightshiftAPI

/// The error domain of ``UNError``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let UNErrorDomain = "UNErrorDomain"

/// An error of a call that concerns notifications.
public struct UNError: CustomNSError, Hashable, Sendable {
    public enum Code: Int, Sendable {
        /// An error code for an app whose user does not allow notifications or has not been asked yet.
        case notificationsNotAllowed = 1
        /// An error code for an attempt to make an attachment. Attachments are not supported on this system.
        case attachmentUnrecognizedType = 101
        case notificationInvalidNoDate = 1_400
        /// An error code for content that cannot be shown or sent to the service.
        case notificationInvalidNoContent = 1_401
        case badgeInputInvalid = 1_600
    }

    public let code: Code
    private let reason: String

    /// Creates an error. Use this initialiser in the tests of your app.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.init(code, userInfo[NSLocalizedDescriptionKey] as? String ?? "The notification was refused: \(code).")
    }

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    init(_ problem: Problem) {
        self.init(
            problem.isAboutContent ? .notificationInvalidNoContent : .notificationsNotAllowed,
            problem.detail ?? problem.title)
    }

    public static var errorDomain: String { UNErrorDomain }

    public var errorCode: Int { code.rawValue }

    /// A dictionary with the service's reason.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

    public static var notificationsNotAllowed: Code { .notificationsNotAllowed }
    public static var attachmentUnrecognizedType: Code { .attachmentUnrecognizedType }
    public static var notificationInvalidNoDate: Code { .notificationInvalidNoDate }
    public static var notificationInvalidNoContent: Code { .notificationInvalidNoContent }
    public static var badgeInputInvalid: Code { .badgeInputInvalid }
}

extension UNError.Code {
    /// Returns whether an error has this code. The operator allows you to catch an error by its code: `catch
    /// UNError.notificationsNotAllowed`.
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? UNError)?.code == code }
}
