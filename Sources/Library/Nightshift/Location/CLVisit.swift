public import Foundation

// The conformance is unchecked because the class can have subclasses. The initialiser sets all properties, and they
// never change afterwards.
/// A stay of the device at one location. This device cannot detect visits, so the delegate never receives a visit.
open class CLVisit: NSObject, NSCopying, @unchecked Sendable {
    /// The time of arrival, or `Date.distantPast` if it is unknown.
    public let arrivalDate: Date
    /// The time of departure, or `Date.distantFuture` if the visit has not ended.
    public let departureDate: Date
    public let coordinate: CLLocationCoordinate2D
    public let horizontalAccuracy: CLLocationAccuracy

    public override init() {
        arrivalDate = .distantPast
        departureDate = .distantFuture
        coordinate = kCLLocationCoordinate2DInvalid
        horizontalAccuracy = -1
    }

    /// Returns this object, because it is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// Calls the delegate's method `didFailWithError` with ``CLError/locationUnknown``, because this device cannot
    /// detect visits.
    public func startMonitoringVisits() {
        fail(CLError(.locationUnknown, reason: "This device cannot detect visits."))
    }

    public func stopMonitoringVisits() {}
}
