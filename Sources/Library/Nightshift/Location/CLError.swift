public import Foundation

/// The error domain of ``CLError``.
public let kCLErrorDomain = "kCLErrorDomain"

/// An error that explains why the app does not get the location.
public struct CLError: CustomNSError, Hashable, Sendable {
    /// The error codes, with Apple's numbers.
    public enum Code: Int, Sendable {
        /// The error code if no source can provide the location at this time.
        case locationUnknown = 0
        /// The error code if the app does not have permission to use the location.
        case denied = 1
        case network = 2
        case headingFailure = 3
        /// The error code if the user does not allow the app to monitor regions.
        case regionMonitoringDenied = 4
        /// The error code if the region is too large or not valid, or the app already monitors the maximum number of
        /// regions.
        case regionMonitoringFailure = 5
        /// The error code if the region is stored, but not monitored yet. Monitoring begins when a source provides the
        /// location.
        case regionMonitoringSetupDelayed = 6
        case regionMonitoringResponseDelayed = 7
        /// The error code if this device cannot receive beacons.
        case rangingUnavailable = 16
        case rangingFailure = 17
    }

    public let code: Code
    private let reason: String

    /// Creates an error. Use this initialiser in the tests of your app.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.init(
            code, reason: userInfo[NSLocalizedDescriptionKey] as? String ?? "The location is not available: \(code).")
    }

    init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    public static var errorDomain: String { kCLErrorDomain }

    public var errorCode: Int { code.rawValue }

    /// The user information, with a description of the error. If the service refused a request, the description is the
    /// service's reason.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: reason] }

    public static var locationUnknown: Code { .locationUnknown }
    public static var denied: Code { .denied }
    public static var network: Code { .network }
    public static var headingFailure: Code { .headingFailure }
    public static var regionMonitoringDenied: Code { .regionMonitoringDenied }
    public static var regionMonitoringFailure: Code { .regionMonitoringFailure }
    public static var regionMonitoringSetupDelayed: Code { .regionMonitoringSetupDelayed }
    public static var regionMonitoringResponseDelayed: Code { .regionMonitoringResponseDelayed }
    public static var rangingUnavailable: Code { .rangingUnavailable }
    public static var rangingFailure: Code { .rangingFailure }
}

extension CLError.Code {
    /// Returns whether an error has this code. With this operator, you can catch an error by its code: `catch
    /// CLError.denied`.
    public static func ~= (code: Self, error: any Error) -> Bool {
        (error as? CLError)?.code == code
    }
}
