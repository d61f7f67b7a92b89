import Foundation
import Nightshift
import Synchronization

/// The location manager of a probe, which follows the orders.
final class Locating: NSObject, CLLocationManagerDelegate, Sendable {
    private let order: LocationOrder?
    private let journal: Journal
    private let manager = Mutex<CLLocationManager?>(nil)
    private let conduct = Mutex<Conduct?>(nil)

    init(_ orders: Orders, _ journal: Journal) {
        order = orders.location
        self.journal = journal
    }

    /// Follows the orders for the launch. The probe calls this in `didFinishLaunching`.
    func launched(_ conduct: Conduct) {
        guard let order else { return }
        self.conduct.withLock { $0 = conduct }
        let manager = CLLocationManager()
        if let accuracy = order.accuracy { manager.desiredAccuracy = accuracy }
        if let distance = order.distance { manager.distanceFilter = distance }
        self.manager.withLock { $0 = manager }
        noteRegions(manager)
        manager.delegate = self
    }

    func reach(_ point: Point) {
        guard let order, let manager = manager.withLock(\.self) else { return }
        if let asking = order.asking, asking.point == point {
            if asking.forAlways {
                manager.requestAlwaysAuthorization()
            } else {
                manager.requestWhenInUseAuthorization()
            }
        }
        for region in order.regions where region.point == point { manager.startMonitoring(for: circle(region)) }
        for region in order.regions where region.end == point { manager.stopMonitoring(for: circle(region)) }
        if order.placeAt == point { manager.requestLocation() }
        if order.updatesFrom == point { manager.startUpdatingLocation() }
        if order.updatesUntil == point { manager.stopUpdatingLocation() }
        if order.changesFrom == point { manager.startMonitoringSignificantLocationChanges() }
        if order.changesUntil == point { manager.stopMonitoringSignificantLocationChanges() }
    }

    private func circle(_ order: RegionOrder) -> CLCircularRegion {
        let region = CLCircularRegion(
            center: CLLocationCoordinate2D(latitude: order.latitude, longitude: order.longitude), radius: order.radius,
            identifier: order.identifier)
        region.notifyOnEntry = order.notifiesOnEntry
        region.notifyOnExit = order.notifiesOnExit
        return region
    }

    private func noteRegions(_ manager: CLLocationManager) {
        let identifiers = manager.monitoredRegions.map(\.identifier).sorted()
        journal.note(.regions) { $0.text = identifiers.joined(separator: ",") }
    }

    private func note(_ event: Sighting.Event, _ region: CLRegion?, _ fill: (inout Sighting) -> Void = { _ in }) {
        journal.note(event) { sighting in
            sighting.description = region?.identifier
            fill(&sighting)
        }
    }

    private func reached(_ point: Point) {
        _ = conduct.withLock(\.self)?.deeds(at: point)
    }

    // MARK: - Delegate methods

    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        journal.note(.mayLocate) { $0.text = "\(manager.authorizationStatus)" }
    }

    func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
        note(.regionStarted, region)
        let isAsking = order?.regions.contains { $0.identifier == region.identifier && $0.asksForState }
        if isAsking == true { manager.requestState(for: region) }
    }

    func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
    ) {
        note(.regionFailed, region) { sighting in
            sighting.domain = (error as NSError).domain
            sighting.code = (error as NSError).code
            sighting.text = error.localizedDescription
        }
    }

    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
        note(.entered, region)
        reached(.crossed)
    }

    func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
        note(.left, region)
        reached(.crossed)
    }

    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion) {
        note(.regionState, region) { $0.text = "\(state)" }
    }

    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        for location in locations {
            let place = location.coordinate
            journal.note(.located) { $0.text = "\(place.latitude),\(place.longitude),\(location.horizontalAccuracy)" }
        }
        reached(.located)
    }

    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
        journal.note(.locationFailed) { sighting in
            sighting.domain = (error as NSError).domain
            sighting.code = (error as NSError).code
        }
    }
}
