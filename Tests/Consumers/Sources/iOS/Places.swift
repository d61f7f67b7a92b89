import CoreLocation

/// A manager of geofences in the form of Apple's article "Monitoring the user's proximity to geographic regions".
class Places: NSObject, CLLocationManagerDelegate {
    let manager = CLLocationManager()
    var status: CLAuthorizationStatus?

    func start() {
        manager.delegate = self
        manager.requestAlwaysAuthorization()
    }

    func region(_ identifier: String, at center: CLLocationCoordinate2D) -> CLCircularRegion {
        let region = CLCircularRegion(
            center: center, radius: min(200, manager.maximumRegionMonitoringDistance), identifier: identifier)
        region.notifyOnExit = false
        return region
    }

    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        status = manager.authorizationStatus
    }
}
