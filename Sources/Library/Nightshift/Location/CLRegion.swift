public import Foundation
import NightshiftAPI
import Synchronization

// The conformance is unchecked because the class can have subclasses. A mutex protects mutable state.
/// A region that can be monitored. The subclass determines the kind of region.
///
/// Two regions of one class are equal if they have the same identifier. If you start monitoring a region, it replaces
/// the equal region that is monitored.
open class CLRegion: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identifier, which is unique in the app.
    public let identifier: String
    private let notifications: Mutex<(entry: Bool, exit: Bool)>

    init(identifier: String, notifyOnEntry: Bool, notifyOnExit: Bool) {
        self.identifier = identifier
        notifications = Mutex((notifyOnEntry, notifyOnExit))
    }

    public required init?(coder: NSCoder) {
        guard let identifier = coder.decodeObject(of: NSString.self, forKey: "identifier") else { return nil }
        self.identifier = String(describing: identifier)
        notifications = Mutex((coder.decodeBool(forKey: "notifyOnEntry"), coder.decodeBool(forKey: "notifyOnExit")))
    }

    open class var supportsSecureCoding: Bool { true }

    open func encode(with coder: NSCoder) {
        coder.encode(identifier as NSString, forKey: "identifier")
        coder.encode(notifyOnEntry, forKey: "notifyOnEntry")
        coder.encode(notifyOnExit, forKey: "notifyOnExit")
    }

    /// Whether the app is woken when the device enters the region. The value is read when monitoring starts.
    open var notifyOnEntry: Bool {
        get { notifications.withLock(\.entry) }
        set { notifications.withLock { $0.entry = newValue } }
    }

    /// Whether the app is woken when the device leaves the region. The value is read when monitoring starts.
    open var notifyOnExit: Bool {
        get { notifications.withLock(\.exit) }
        set { notifications.withLock { $0.exit = newValue } }
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        CLRegion(identifier: identifier, notifyOnEntry: notifyOnEntry, notifyOnExit: notifyOnExit)
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CLRegion else { return false }
        return type(of: other) == type(of: self) && other.identifier == identifier
    }

    open override var hash: Int { identifier.hashValue }

    open override var description: String { "\(type(of: self)) (identifier:'\(identifier)')" }

    /// The region in the form that is sent to the service. Nil if the region cannot be monitored.
    var monitored: MonitoredRegion? { nil }
}

/// A circle on the earth.
open class CLCircularRegion: CLRegion, @unchecked Sendable {
    public let center: CLLocationCoordinate2D
    /// The radius in metres.
    public let radius: CLLocationDistance

    /// Creates a circular region.
    ///
    /// - Parameters:
    ///   - radius: The radius in metres. A circle can be monitored up to a radius of
    ///     ``CLLocationManager/maximumRegionMonitoringDistance``. Events for a radius below some hundred metres may be
    ///     late, depending on the accuracy of the device's location.
    ///   - identifier: The identifier, which is unique in the app and has at most 256 bytes.
    public init(center: CLLocationCoordinate2D, radius: CLLocationDistance, identifier: String) {
        self.center = center
        self.radius = radius
        super.init(identifier: identifier, notifyOnEntry: true, notifyOnExit: true)
    }

    convenience init(_ region: MonitoredRegion) {
        self.init(
            center: CLLocationCoordinate2D(region.center), radius: region.radius, identifier: region.identifier)
        notifyOnEntry = region.notifiesOnEntry
        notifyOnExit = region.notifiesOnExit
    }

    public required init?(coder: NSCoder) {
        guard ["latitude", "longitude", "radius"].allSatisfy(coder.containsValue(forKey:)) else { return nil }
        center = CLLocationCoordinate2D(
            latitude: coder.decodeDouble(forKey: "latitude"), longitude: coder.decodeDouble(forKey: "longitude"))
        radius = coder.decodeDouble(forKey: "radius")
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(center.latitude, forKey: "latitude")
        coder.encode(center.longitude, forKey: "longitude")
        coder.encode(radius, forKey: "radius")
    }

    /// Returns whether a coordinate is in the circle or on its boundary.
    open func contains(_ coordinate: CLLocationCoordinate2D) -> Bool {
        guard let center = center.coordinate, let place = coordinate.coordinate else { return false }
        return center.distance(to: place) <= radius
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CLCircularRegion(center: center, radius: radius, identifier: identifier)
        copy.notifyOnEntry = notifyOnEntry
        copy.notifyOnExit = notifyOnExit
        return copy
    }

    open override var description: String {
        "\(super.description), center:<\(center.latitude),\(center.longitude)>, radius:\(radius)m"
    }

    override var monitored: MonitoredRegion? {
        guard let center = center.coordinate, (0...MonitoredRegion.largestRadius).contains(radius) else { return nil }
        return MonitoredRegion(
            identifier: identifier, center: center, radius: radius, notifiesOnEntry: notifyOnEntry,
            notifiesOnExit: notifyOnExit)
    }
}

/// The state of a region: whether the device is inside or outside, if this is known.
public enum CLRegionState: Int, Sendable {
    case unknown = 0
    case inside = 1
    case outside = 2

    init(_ state: RegionState) {
        self =
            switch state {
            case .unknown: .unknown
            case .inside: .inside
            case .outside: .outside
            }
    }
}
