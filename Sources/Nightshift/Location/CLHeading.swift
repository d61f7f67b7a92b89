public import Foundation

public typealias CLHeadingComponentValue = Double

/// Every change of the heading is wanted.
public let kCLHeadingFilterNone: CLLocationDegrees = -1

/// How the device is held, for the heading; kept, and without an effect.
public enum CLDeviceOrientation: Int32, Sendable {
    case unknown = 0
    case portrait = 1
    case portraitUpsideDown = 2
    case landscapeLeft = 3
    case landscapeRight = 4
    case faceUp = 5
    case faceDown = 6
}

// Unchecked for its subclasses' sake: nothing here changes after the initialiser.
/// The direction in which the device points. There is no source for it: no delegate is given one.
open class CLHeading: NSObject, NSCopying, @unchecked Sendable {
    public let magneticHeading: CLLocationDirection
    public let trueHeading: CLLocationDirection
    /// Negative: the heading is not valid.
    public let headingAccuracy: CLLocationDirection
    public let x: CLHeadingComponentValue
    public let y: CLHeadingComponentValue
    public let z: CLHeadingComponentValue
    public let timestamp: Date

    public override init() {
        (magneticHeading, trueHeading, headingAccuracy) = (-1, -1, -1)
        (x, y, z) = (0, 0, 0)
        timestamp = .distantPast
    }

    /// Itself, which never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// False: no source on this device tells the heading.
    public class func headingAvailable() -> Bool { false }

    /// Nil: there is no source for it.
    public var heading: CLHeading? { nil }

    /// Fails: `didFailWithError` with ``CLError/headingFailure``.
    public func startUpdatingHeading() {
        fail(CLError(.headingFailure, reason: "No source on this device tells the heading."))
    }

    public func stopUpdatingHeading() {}

    public func dismissHeadingCalibrationDisplay() {}
}
