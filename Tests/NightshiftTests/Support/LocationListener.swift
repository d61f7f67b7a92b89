import Foundation
import Nightshift
import TestSupport

/// A delegate that records its calls and checks that they are on the main queue.
final class LocationListener: NSObject, CLLocationManagerDelegate, Sendable {
    let heard = Watched<[String]>([])

    private func note(_ text: String) {
        dispatchPrecondition(condition: .onQueue(.main))
        heard.update { $0.append(text) }
    }

    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        note("may \(manager.authorizationStatus)")
    }

    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        note("at \(locations.map { "\($0.coordinate.latitude), \($0.coordinate.longitude)" })")
    }

    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {
        note("failed \((error as NSError).code)")
    }

    func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
        note("started \(region.identifier)")
    }

    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
        note("entered \(region.identifier)")
    }

    func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
        note("left \(region.identifier)")
    }

    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion) {
        note("\(state) \(region.identifier)")
    }

    func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
    ) {
        note("failed \(region?.identifier ?? "?") \((error as NSError).code)")
    }

    func locationManager(
        _ manager: CLLocationManager, didFailRangingFor constraint: CLBeaconIdentityConstraint, error: any Error
    ) {
        note("no ranging \((error as NSError).code)")
    }

    func locationManager(
        _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion, withError error: any Error
    ) {
        note("no ranging \(region.identifier) \((error as NSError).code)")
    }
}
