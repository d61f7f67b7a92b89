public import Foundation

// Unchecked for its subclasses' sake: nothing here changes after the initialiser.
/// A stay at a place. Nothing on this device notices visits: no delegate is given one.
open class CLVisit: NSObject, NSCopying, @unchecked Sendable {
    /// `Date.distantPast` where it is not known.
    public let arrivalDate: Date
    /// `Date.distantFuture` while the visit lasts.
    public let departureDate: Date
    public let coordinate: CLLocationCoordinate2D
    public let horizontalAccuracy: CLLocationAccuracy

    public override init() {
        arrivalDate = .distantPast
        departureDate = .distantFuture
        coordinate = kCLLocationCoordinate2DInvalid
        horizontalAccuracy = -1
    }

    /// Itself, which never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension CLLocationManager {
    /// Fails: `didFailWithError` with ``CLError/locationUnknown``.
    public func startMonitoringVisits() {
        fail(CLError(.locationUnknown, reason: "Nothing on this device notices visits."))
    }

    public func stopMonitoringVisits() {}
}
