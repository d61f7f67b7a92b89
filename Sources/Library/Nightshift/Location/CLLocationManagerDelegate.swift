public import Foundation

/// The methods with which an app receives location events. Every method has a default implementation. All methods are
/// called on the main queue.
public protocol CLLocationManagerDelegate: NSObjectProtocol {
    /// Called once after the manager was created, and again whenever the user's permission has changed.
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)

    /// The form of the method that apps used before iOS 14. The library calls this form if the delegate does not
    /// implement `locationManagerDidChangeAuthorization(_:)`.
    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus)

    /// Called with locations that the app requested. This method also receives significant changes if the manager
    /// monitors them. The newest location is last.
    ///
    /// The first call after the start of monitoring has the last known location. Check the `timestamp` of that
    /// location, because it may be old.
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])

    /// Called if the app is not allowed to use the location (`denied`), or if no source can provide the location at
    /// this time (`locationUnknown`). If updates are on, the manager continues to request the location.
    ///
    /// - Parameter error: A ``CLError``.
    func locationManager(_ manager: CLLocationManager, didFailWithError error: any Error)

    func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion)

    /// Called when the device has entered the region. The app then has about 10 s, or more if it begins a background
    /// task.
    ///
    /// - Parameter region: A copy of the monitored region. Compare regions by their identifiers.
    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion)

    /// Called when the device has left the region.
    func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion)

    /// Called with the state of a region: whether the device is inside or outside, if this is known. This method is
    /// called after every region event, and as the response to ``CLLocationManager/requestState(for:)``.
    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion)

    /// Called with a ``CLError`` if the region cannot be monitored, or is not monitored yet.
    func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error)

    // The library never calls the following methods. Updates are never paused, and this device has no source of
    // headings, visits or beacons.
    func locationManagerDidPauseLocationUpdates(_ manager: CLLocationManager)
    func locationManagerDidResumeLocationUpdates(_ manager: CLLocationManager)
    func locationManager(_ manager: CLLocationManager, didUpdateHeading newHeading: CLHeading)
    func locationManagerShouldDisplayHeadingCalibration(_ manager: CLLocationManager) -> Bool
    func locationManager(_ manager: CLLocationManager, didVisit visit: CLVisit)
    func locationManager(
        _ manager: CLLocationManager, didRange beacons: [CLBeacon], satisfying constraint: CLBeaconIdentityConstraint)
    func locationManager(_ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion)

    /// Called with ``CLError/rangingUnavailable``, because this device cannot receive beacons.
    func locationManager(
        _ manager: CLLocationManager, didFailRangingFor constraint: CLBeaconIdentityConstraint, error: any Error)

    /// Called with ``CLError/rangingUnavailable`` after ``CLLocationManager/startRangingBeacons(in:)``.
    func locationManager(
        _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion, withError error: any Error)
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

    public func locationManagerDidPauseLocationUpdates(_ manager: CLLocationManager) {}

    public func locationManagerDidResumeLocationUpdates(_ manager: CLLocationManager) {}

    public func locationManager(_ manager: CLLocationManager, didUpdateHeading newHeading: CLHeading) {}

    public func locationManagerShouldDisplayHeadingCalibration(_ manager: CLLocationManager) -> Bool { false }

    public func locationManager(_ manager: CLLocationManager, didVisit visit: CLVisit) {}

    public func locationManager(
        _ manager: CLLocationManager, didRange beacons: [CLBeacon], satisfying constraint: CLBeaconIdentityConstraint
    ) {}

    public func locationManager(
        _ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion
    ) {}

    public func locationManager(
        _ manager: CLLocationManager, didFailRangingFor constraint: CLBeaconIdentityConstraint, error: any Error
    ) {}

    public func locationManager(
        _ manager: CLLocationManager, rangingBeaconsDidFailFor region: CLBeaconRegion, withError error: any Error
    ) {}
}
