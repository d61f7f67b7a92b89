public import Foundation

/// What an app hears of location; every method has a default and is called on the main queue.
public protocol CLLocationManagerDelegate: NSObjectProtocol {
    /// The user's word: once behind the making of the manager, then whenever it has changed.
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)

    /// The same, for delegates from before iOS 14. Called where the other method is not there.
    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus)

    /// A significant change, of a manager that has started monitoring those; the newest place comes last.
    ///
    /// The first one after the start is the last place that is known: look at its `timestamp`.
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])

    /// Significant changes are not monitored (`denied`), or nothing tells the place of one (`locationUnknown`).
    ///
    /// - Parameter error: a ``CLError``.
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)

    func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion)

    /// The device has entered the region. About 10 s are left, more with a background task.
    ///
    /// - Parameter region: a copy of the one that is monitored: its identifier tells which it is.
    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion)

    /// The device has left the region.
    func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion)

    /// On which side of the boundary the device is: behind every crossing, and the answer to
    /// ``CLLocationManager/requestState(for:)``.
    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion)

    /// The region is not monitored: ``CLError``.
    func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error)
}

extension CLLocationManagerDelegate {
    public func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        locationManager(manager, didChangeAuthorization: manager.authorizationStatus)
    }

    public func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus) {}

    public func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        manager.countUnheard()
    }

    public func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error) {}

    public func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {}

    public func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
        manager.countUnheard()
    }

    public func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
        manager.countUnheard()
    }

    public func locationManager(
        _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
    ) {
        manager.countUnheard()
    }

    public func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
    ) {}
}
