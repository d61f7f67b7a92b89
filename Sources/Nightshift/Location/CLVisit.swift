public import Foundation

// The conformance is unchecked because of the subclasses. No property changes after the initialiser.
/// A stay of the device at one location. This device cannot detect visits, so no delegate gets one.
open class CLVisit: NSObject, NSCopying, @unchecked Sendable {
    /// The time of arrival, or `Date.distantPast` if it is unknown.
    public let arrivalDate: Date
    /// The time of departure, or `Date.distantFuture` while the visit lasts.
    public let departureDate: Date
    public let coordinate: CLLocationCoordinate2D
    public let horizontalAccuracy: CLLocationAccuracy

    public override init() {
        arrivalDate = .distantPast
        departureDate = .distantFuture
        coordinate = kCLLocationCoordinate2DInvalid
        horizontalAccuracy = -1
    }

    /// Returns the object itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// Calls the delegate's method `didFailWithError` with ``CLError/locationUnknown``.
    public func startMonitoringVisits() {
        fail(CLError(.locationUnknown, reason: "This device cannot detect visits."))
    }

    public func stopMonitoringVisits() {}
}
