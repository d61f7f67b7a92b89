public import Foundation

/// What an app hears of location; every method has a default and is called on the main queue.
public protocol CLLocationManagerDelegate: NSObjectProtocol {
    /// The user's word: once behind the making of the manager, then whenever it has changed.
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager)

    /// The same, for delegates from before iOS 14. Called where the other method is not there.
    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus)

    /// A place that was asked for, or a significant change, of a manager that has started monitoring those; the newest place comes
    /// last.
    ///
    /// The first significant change after the start is the last place that is known: look at its `timestamp`.
    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation])

    /// The app may not know the place (`denied`), or nothing tells it now (`locationUnknown`): updates that are on are tried again.
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

    // Not called: nothing on this device pauses updates, and there is no source of headings, visits and beacons.
    func locationManagerDidPauseLocationUpdates(_ manager: CLLocationManager)
    func locationManagerDidResumeLocationUpdates(_ manager: CLLocationManager)
    func locationManager(_ manager: CLLocationManager, didUpdateHeading newHeading: CLHeading)
    func locationManagerShouldDisplayHeadingCalibration(_ manager: CLLocationManager) -> Bool
    func locationManager(_ manager: CLLocationManager, didVisit visit: CLVisit)
    func locationManager(
        _ manager: CLLocationManager, didRange beacons: [CLBeacon], satisfying constraint: CLBeaconIdentityConstraint)
    func locationManager(_ manager: CLLocationManager, didRangeBeacons beacons: [CLBeacon], in region: CLBeaconRegion)

    /// Beacons are not received on this device: ``CLError/rangingUnavailable``.
    func locationManager(
        _ manager: CLLocationManager, didFailRangingFor constraint: CLBeaconIdentityConstraint, error: any Error)

    /// The same, for ``CLLocationManager/startRangingBeacons(in:)``.
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
