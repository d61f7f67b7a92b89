import Harness

#if canImport(CoreLocation)
    import CoreLocation
#else
    import Nightshift
#endif

// Region monitoring as apps use it. This program has no desktop entry, so it has no permission to learn the location.
// The code calls the delegate through the protocol, like the service.

/// A manager of geofences as in Apple's article "Monitoring the user's proximity to geographic regions".
private final class Geofences: NSObject, CLLocationManagerDelegate, @unchecked Sendable {
    // This is unchecked, as in an app, because only the main thread uses it.
    let locationManager = CLLocationManager()
    let authorization = Outcome<CLAuthorizationStatus>("an authorization")
    let failure = Outcome<NSError>("an error")
    private(set) var heard: [String] = []

    func start() {
        locationManager.delegate = self
        locationManager.desiredAccuracy = kCLLocationAccuracyHundredMeters
        locationManager.distanceFilter = kCLDistanceFilterNone
        locationManager.activityType = .other
        locationManager.allowsBackgroundLocationUpdates = true
        locationManager.pausesLocationUpdatesAutomatically = false
    }

    func monitorRegionAtLocation(center: CLLocationCoordinate2D, identifier: String) {
        // Make sure the devices supports region monitoring.
        if CLLocationManager.isMonitoringAvailable(for: CLCircularRegion.self) {
            heard.append("available")
        }
        // Register the region.
        let maxDistance = locationManager.maximumRegionMonitoringDistance
        let region = CLCircularRegion(center: center, radius: min(200, maxDistance), identifier: identifier)
        region.notifyOnEntry = true
        region.notifyOnExit = false
        locationManager.startMonitoring(for: region)
    }

    func stopAll() {
        for region in locationManager.monitoredRegions { locationManager.stopMonitoring(for: region) }
        locationManager.stopMonitoringSignificantLocationChanges()
    }

    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
        switch manager.authorizationStatus {
        case .notDetermined: manager.requestWhenInUseAuthorization()
        case .authorizedWhenInUse: manager.requestAlwaysAuthorization()
        case .authorizedAlways: manager.startMonitoringSignificantLocationChanges()
        case .restricted, .denied: break
        @unknown default: break
        }
        authorization.give(manager.authorizationStatus)
    }

    func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
        if let region = region as? CLCircularRegion {
            let identifier = region.identifier
            heard.append("entered \(identifier)")
        }
    }

    func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
        guard region is CLCircularRegion else { return }
        heard.append("left \(region.identifier)")
    }

    func locationManager(_ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion) {
        switch state {
        case .inside: heard.append("inside")
        case .outside: heard.append("outside")
        case .unknown: heard.append("unknown")
        }
    }

    func locationManager(_ manager: CLLocationManager, didStartMonitoringFor region: CLRegion) {
        manager.requestState(for: region)
    }

    func locationManager(_ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: Error) {
        guard let region = region else { return }
        heard.append("failed \(region.identifier)")
        failure.give(error as NSError)
    }

    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        guard let location = locations.last else { return }
        let howRecent = location.timestamp.timeIntervalSinceNow
        if abs(howRecent) < 15, location.horizontalAccuracy >= 0 {
            heard.append("\(location.coordinate.latitude), \(location.coordinate.longitude)")
        }
    }

    func locationManager(_ manager: CLLocationManager, didFailWithError error: Error) {
        if let clError = error as? CLError, clError.code == .denied {
            manager.stopMonitoringSignificantLocationChanges()
        }
    }
}

/// A delegate with the methods from before iOS 14.
private class OldFences: NSObject, CLLocationManagerDelegate {
    let manager: CLLocationManager
    var statuses: [CLAuthorizationStatus] = []

    override init() {
        manager = CLLocationManager()
        super.init()
        if CLLocationManager.authorizationStatus() == .notDetermined { manager.requestAlwaysAuthorization() }
        if CLLocationManager.locationServicesEnabled() { statuses = [] }
    }

    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus) {
        statuses.append(status)
    }
}

/// A delegate isolated with `@MainActor`, as in apps of Swift 6.
@MainActor private final class FenceModel: NSObject {
    private let manager = CLLocationManager()
    private(set) var regions: [String] = []

    func start() { manager.delegate = self }

    func add(_ identifier: String) { regions.append(identifier) }
}

extension FenceModel: CLLocationManagerDelegate {
    nonisolated func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
        let identifier = region.identifier
        MainActor.assumeIsolated { add(identifier) }
    }

    nonisolated func locationManager(
        _ manager: CLLocationManager, monitoringDidFailFor region: CLRegion?, withError error: any Error
    ) {
        let identifier = region?.identifier ?? ""
        Task { @MainActor in self.add("failed \(identifier)") }
    }
}

/// A provider of the current location, as in apps for maps or weather.
private final class LocationProvider: NSObject, CLLocationManagerDelegate, @unchecked Sendable {
    // This is unchecked, as in an app, because only the main thread uses it.
    private let manager: CLLocationManager
    private(set) var last: CLLocation?
    let failure = Outcome<NSError>("an error")

    override init() {
        manager = CLLocationManager()
        super.init()
        manager.delegate = self
        manager.desiredAccuracy = kCLLocationAccuracyBest
        manager.distanceFilter = 10
    }

    func fetch() { manager.requestLocation() }

    func track() {
        if CLLocationManager.headingAvailable() { manager.startUpdatingHeading() }
        if CLLocationManager.isMonitoringAvailable(for: CLBeaconRegion.self) {
            manager.startMonitoring(for: CLBeaconRegion(uuid: UUID(), identifier: "desk"))
        }
        manager.startUpdatingLocation()
    }

    func stop() {
        manager.stopUpdatingHeading()
        manager.stopUpdatingLocation()
    }

    func locationManager(_ manager: CLLocationManager, didUpdateLocations locations: [CLLocation]) {
        guard let location = locations.last, location.horizontalAccuracy >= 0 else { return }
        if location.speedAccuracy < 0 { last = location }
    }

    func locationManager(_ manager: CLLocationManager, didUpdateHeading newHeading: CLHeading) {
        guard newHeading.headingAccuracy >= 0 else { return }
    }

    func locationManager(_ manager: CLLocationManager, didVisit visit: CLVisit) {
        if visit.departureDate == .distantFuture { last = nil }
    }

    func locationManager(_ manager: CLLocationManager, didFailWithError error: Error) {
        failure.give(error as NSError)
    }
}

/// A location manager for tests, as apps make them.
private class FixedManager: CLLocationManager, @unchecked Sendable {
    override var location: CLLocation? { CLLocation(latitude: 52.52, longitude: 13.405) }
}

func locations() async {
    await situation("geofences whose delegate receives region events") {
        let fences = Geofences()
        fences.start()
        let delegate: any CLLocationManagerDelegate = fences
        let center = CLLocationCoordinate2D(latitude: 37.33, longitude: -122.03)
        let region: CLRegion = CLCircularRegion(center: center, radius: 200, identifier: "home")
        delegate.locationManager(fences.locationManager, didEnterRegion: region)
        delegate.locationManager(fences.locationManager, didDetermineState: .inside, for: region)
        delegate.locationManager(fences.locationManager, didExitRegion: region)
        delegate.locationManager(
            fences.locationManager, didUpdateLocations: [CLLocation(latitude: 1.5, longitude: 2.5)])
        try expectEqual(fences.heard, ["entered home", "inside", "left home", "1.5, 2.5"])
    }
    await situation("a program without location permission gets this status after it creates its manager") {
        let fences = Geofences()
        fences.start()
        let status = try await fences.authorization.value()
        try expect(status != .authorizedAlways && status != .authorizedWhenInUse, "it is \(status)")
        fences.stopAll()
    }
    await situation("a region that is too large fails") {
        let fences = Geofences()
        fences.start()
        let center = CLLocationCoordinate2DMake(52.52, 13.405)
        let radius = fences.locationManager.maximumRegionMonitoringDistance + 1
        fences.locationManager.startMonitoring(
            for: CLCircularRegion(center: center, radius: radius, identifier: "everywhere"))
        let error = try await fences.failure.value()
        try expectEqual(error.domain, kCLErrorDomain)
        try expectEqual(error.code, CLError.Code.regionMonitoringFailure.rawValue)
        // The manager does not retain its delegate.
        withExtendedLifetime(fences) {}
    }
    await situation("a delegate from before iOS 14") {
        let fences = OldFences()
        let delegate: any CLLocationManagerDelegate = fences
        delegate.locationManagerDidChangeAuthorization(fences.manager)
        try expectEqual(fences.statuses.count, 1)
        try expect(fences.statuses.first != .authorizedAlways, "it may")
    }
    await situation("a model isolated to the main actor as the delegate") {
        let model = await FenceModel()
        await model.start()
        await MainActor.run {
            let delegate: any CLLocationManagerDelegate = model
            delegate.locationManager(
                CLLocationManager(),
                didEnterRegion: CLCircularRegion(center: .init(), radius: 1, identifier: "office"))
        }
        try expectEqual(await model.regions, ["office"])
    }
    await situation("a provider of the location is notified that a program without a desktop entry is denied") {
        for begin in [LocationProvider.fetch, LocationProvider.track] {
            let provider = LocationProvider()
            begin(provider)()
            let error = try await provider.failure.value()
            try expectEqual(error.domain, kCLErrorDomain)
            try expectEqual(error.code, CLError.Code.denied.rawValue)
            provider.stop()
            try expect(provider.last == nil, "it has a location")
        }
    }
    await situation("locations and regions in archives") {
        let berlin = CLLocation(latitude: 52.5163, longitude: 13.3777)
        let data = try NSKeyedArchiver.archivedData(withRootObject: berlin, requiringSecureCoding: true)
        let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CLLocation.self, from: data)
        try expectEqual(copy?.coordinate.latitude, 52.5163)
        let circle = CLCircularRegion(center: berlin.coordinate, radius: 500, identifier: "gate")
        let regions = try NSKeyedArchiver.archivedData(withRootObject: circle, requiringSecureCoding: true)
        let region = try NSKeyedUnarchiver.unarchivedObject(ofClass: CLCircularRegion.self, from: regions)
        try expectEqual(region?.radius, 500)
    }
    await situation("a subclass of the location manager for a test") {
        let manager: CLLocationManager = FixedManager()
        try expectEqual(manager.location?.coordinate.latitude, 52.52)
    }
    await situation("distances, circles and coordinates") {
        let berlin = CLLocation(latitude: 52.5163, longitude: 13.3777)
        let paris = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 48.8584, longitude: 2.2945), altitude: 35,
            horizontalAccuracy: 5, verticalAccuracy: 5, timestamp: Date())
        let kilometers = Int(paris.distance(from: berlin) / 1_000)
        try expectEqual(kilometers, 879)
        let circle = CLCircularRegion(center: paris.coordinate, radius: 500, identifier: "tower")
        try expect(circle.contains(paris.coordinate), "its own center is outside")
        try expect(!circle.contains(berlin.coordinate), "Berlin is in Paris")
        try expect(CLLocationCoordinate2DIsValid(berlin.coordinate), "Berlin is nowhere")
        try expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid), "it is somewhere")
        try expectEqual(berlin.speed, -1)
        try expectEqual(Set<CLRegion>([circle]).map(\.identifier), ["tower"])
    }
}
