import Dispatch
public import Foundation

public typealias CLBeaconMajorValue = UInt16
public typealias CLBeaconMinorValue = UInt16

/// The distance of a beacon, as a range.
public enum CLProximity: Int, Sendable {
    case unknown = 0
    case immediate = 1
    case near = 2
    case far = 3
}

// The conformance is unchecked because the class can have subclasses. The initialiser sets all properties, and they
// never change afterwards.
/// The identity of one or more beacons. This device cannot detect beacons.
open class CLBeaconIdentityConstraint: NSObject, NSCopying, @unchecked Sendable {
    public let uuid: UUID
    public let major: CLBeaconMajorValue?
    public let minor: CLBeaconMinorValue?

    public convenience init(uuid: UUID) { self.init(uuid, nil, nil) }

    public convenience init(uuid: UUID, major: CLBeaconMajorValue) { self.init(uuid, major, nil) }

    public convenience init(uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue) {
        self.init(uuid, major, minor)
    }

    init(_ uuid: UUID, _ major: CLBeaconMajorValue?, _ minor: CLBeaconMinorValue?) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLBeaconIdentityConstraint else { return false }
        return (other.uuid, other.major, other.minor) == (uuid, major, minor)
    }

    open override var hash: Int { uuid.hashValue }

    /// Returns this object, because it is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A region around beacons. This device cannot monitor such regions.
open class CLBeaconRegion: CLRegion, @unchecked Sendable {
    public let beaconIdentityConstraint: CLBeaconIdentityConstraint

    public init(beaconIdentityConstraint: CLBeaconIdentityConstraint, identifier: String) {
        self.beaconIdentityConstraint = beaconIdentityConstraint
        super.init(identifier: identifier, notifyOnEntry: true, notifyOnExit: true)
    }

    public convenience init(uuid: UUID, identifier: String) {
        self.init(beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid), identifier: identifier)
    }

    public convenience init(uuid: UUID, major: CLBeaconMajorValue, identifier: String) {
        self.init(
            beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major), identifier: identifier)
    }

    public convenience init(
        uuid: UUID, major: CLBeaconMajorValue, minor: CLBeaconMinorValue, identifier: String
    ) {
        self.init(
            beaconIdentityConstraint: CLBeaconIdentityConstraint(uuid: uuid, major: major, minor: minor),
            identifier: identifier)
    }

    public required init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "uuid"),
            let uuid = UUID(uuidString: String(describing: text))
        else { return nil }
        func value(_ key: String) -> UInt16? {
            coder.containsValue(forKey: key) ? UInt16(exactly: coder.decodeInteger(forKey: key)) : nil
        }
        beaconIdentityConstraint = CLBeaconIdentityConstraint(uuid, value("major"), value("minor"))
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(uuid.uuidString as NSString, forKey: "uuid")
        if let major = beaconIdentityConstraint.major { coder.encode(Int(major), forKey: "major") }
        if let minor = beaconIdentityConstraint.minor { coder.encode(Int(minor), forKey: "minor") }
    }

    open var uuid: UUID { beaconIdentityConstraint.uuid }
    open var major: NSNumber? { beaconIdentityConstraint.major.map { NSNumber(value: $0) } }
    open var minor: NSNumber? { beaconIdentityConstraint.minor.map { NSNumber(value: $0) } }

    open override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CLBeaconRegion(beaconIdentityConstraint: beaconIdentityConstraint, identifier: identifier)
        copy.notifyOnEntry = notifyOnEntry
        copy.notifyOnExit = notifyOnExit
        return copy
    }
}

// The conformance is unchecked because the class can have subclasses. The initialiser sets all properties, and they
// never change afterwards.
/// A beacon. This device cannot detect beacons, so the delegate never receives one.
open class CLBeacon: NSObject, NSCopying, @unchecked Sendable {
    public let uuid: UUID
    public let major: NSNumber
    public let minor: NSNumber
    public let proximity = CLProximity.unknown
    /// The accuracy of the distance in metres. The value is always negative, which means that the accuracy is unknown.
    public let accuracy: CLLocationAccuracy = -1
    public let rssi = 0
    public let timestamp: Date

    init(_ constraint: CLBeaconIdentityConstraint, timestamp: Date) {
        uuid = constraint.uuid
        major = NSNumber(value: constraint.major ?? 0)
        minor = NSNumber(value: constraint.minor ?? 0)
        self.timestamp = timestamp
    }

    /// Returns this object, because it is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// Returns false, because this device cannot receive beacons.
    public class func isRangingAvailable() -> Bool { false }

    /// The constraints that are being ranged. The set is always empty, because this device cannot range beacons.
    public var rangedBeaconConstraints: Set<CLBeaconIdentityConstraint> { [] }

    /// Calls the delegate's method `didFailRangingFor` with ``CLError/rangingUnavailable``, because this device cannot
    /// receive beacons.
    public func startRangingBeacons(satisfying constraint: CLBeaconIdentityConstraint) {
        DispatchQueue.main.async { [self] in
            delegate?.locationManager(self, didFailRangingFor: constraint, error: CLError.noBeacons)
        }
    }

    public func stopRangingBeacons(satisfying constraint: CLBeaconIdentityConstraint) {}

    /// Calls the delegate's method `rangingBeaconsDidFailFor` with ``CLError/rangingUnavailable``, because this device
    /// cannot receive beacons.
    public func startRangingBeacons(in region: CLBeaconRegion) {
        DispatchQueue.main.async { [self] in
            delegate?.locationManager(self, rangingBeaconsDidFailFor: region, withError: CLError.noBeacons)
        }
    }

    public func stopRangingBeacons(in region: CLBeaconRegion) {}
}

extension CLError {
    fileprivate static let noBeacons = CLError(
        .rangingUnavailable, reason: "This device cannot receive beacons.")
}
