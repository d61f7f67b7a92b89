public import Foundation
import NightshiftAPI

/// The domain of ``UNError``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let UNErrorDomain = "UNErrorDomain"

/// Why something about notifications was not done.
public struct UNError: CustomNSError, Hashable, Sendable {
    public enum Code: Int, Sendable {
        /// The user does not let the app show any, or has not been asked.
        case notificationsNotAllowed = 1
        /// An attachment was made; notifications here have none.
        case attachmentUnrecognizedType = 101
        case notificationInvalidNoDate = 1_400
        /// What it is to show cannot be shown, or carried.
        case notificationInvalidNoContent = 1_401
        case badgeInputInvalid = 1_600
    }

    public let code: Code
    private let reason: String

    /// For tests of an app's own.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.init(code, userInfo[NSLocalizedDescriptionKey] as? String ?? "The notification was not taken: \(code).")
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

    /// The service's own words.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

    public static var notificationsNotAllowed: Code { .notificationsNotAllowed }
    public static var attachmentUnrecognizedType: Code { .attachmentUnrecognizedType }
    public static var notificationInvalidNoDate: Code { .notificationInvalidNoDate }
    public static var notificationInvalidNoContent: Code { .notificationInvalidNoContent }
    public static var badgeInputInvalid: Code { .badgeInputInvalid }
}

extension UNError.Code {
    /// Lets an error be caught by its code: `catch UNError.notificationsNotAllowed`.
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? UNError)?.code == code }
}
