public import Foundation

/// The domain of ``CLError``.
public let kCLErrorDomain = "kCLErrorDomain"

/// Why the app is not told where the device is.
public struct CLError: CustomNSError, Hashable, Sendable {
    /// Apple's numbers.
    public enum Code: Int, Sendable {
        /// Nothing tells where the device is, now.
        case locationUnknown = 0
        /// The app's user does not let it know.
        case denied = 1
        case network = 2
        case headingFailure = 3
        /// The app's user does not let it monitor regions.
        case regionMonitoringDenied = 4
        /// The region is too large or no region, or the app monitors as many as it may.
        case regionMonitoringFailure = 5
        /// The region is kept, and is monitored as soon as something tells where the device is.
        case regionMonitoringSetupDelayed = 6
        case regionMonitoringResponseDelayed = 7
        /// Nothing on this device receives beacons.
        case rangingUnavailable = 16
        case rangingFailure = 17
    }

    public let code: Code
    private let reason: String

    /// For tests of an app's own.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.init(code, reason: userInfo[NSLocalizedDescriptionKey] as? String ?? "The location is not told: \(code).")
    }

    init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    public static var errorDomain: String { kCLErrorDomain }

    public var errorCode: Int { code.rawValue }

    /// The service's own words, where it was the service that refused.
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
    /// Lets an error be caught by its code: `catch CLError.denied`.
    public static func ~= (code: Self, error: any Error) -> Bool {
        (error as? CLError)?.code == code
    }
}
