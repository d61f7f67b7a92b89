public import Foundation

public typealias CLHeadingComponentValue = Double

/// The filter value for receiving every change of the heading.
public let kCLHeadingFilterNone: CLLocationDegrees = -1

/// The orientation in which the user holds the device, for headings. The value is stored, but has no effect.
public enum CLDeviceOrientation: Int32, Sendable {
    case unknown = 0
    case portrait = 1
    case portraitUpsideDown = 2
    case landscapeLeft = 3
    case landscapeRight = 4
    case faceUp = 5
    case faceDown = 6
}

// The conformance is unchecked because the class can have subclasses. The initialiser sets all properties, and they
// never change afterwards.
/// The direction in which the device points. No source provides headings, so the delegate never receives a heading.
open class CLHeading: NSObject, NSCopying, @unchecked Sendable {
    public let magneticHeading: CLLocationDirection
    public let trueHeading: CLLocationDirection
    /// The accuracy of the heading in degrees. A negative value means that the heading is not valid.
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

    /// Returns this object, because it is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// Returns false, because this device has no source of headings.
    public class func headingAvailable() -> Bool { false }

    /// The last heading. It is always nil, because no source provides headings.
    public var heading: CLHeading? { nil }

    /// Calls the delegate's method `didFailWithError` with ``CLError/headingFailure``, because this device has no
    /// source of headings.
    public func startUpdatingHeading() {
        fail(CLError(.headingFailure, reason: "This device has no source of headings."))
    }

    public func stopUpdatingHeading() {}

    public func dismissHeadingCalibrationDisplay() {}
}
