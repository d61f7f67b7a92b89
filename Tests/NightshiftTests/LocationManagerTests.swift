import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the requests of a location manager to the service, and of the resulting calls to its delegate (rows R6 and
/// R7).
@Suite struct LocationManagerTests {
    /// A process with a manager whose delegate records its calls.
    private final class App: Sendable {
        let world: World
        let connection: ServiceConnection
        let manager: CLLocationManager
        let listener = LocationListener()

        init(_ prepare: (inout ScriptedService.LocationState) -> Void = { _ in }) throws {
            world = try World()
            world.service.state.update { prepare(&$0.location) }
            connection = world.process().connection
            manager = CLLocationManager(connection: connection)
            manager.delegate = listener
        }

        var service: ScriptedService { world.service }

        func hears(_ text: String) async throws {
            try await listener.heard.wait(for: text) { $0.contains(text) }
        }

        /// Waits until the app has this permission.
        func may(_ status: CLAuthorizationStatus) async throws {
            try await listener.heard.wait(for: "the user's word") { $0.last { $0.hasPrefix("may") } == "may \(status)" }
        }
    }

    private func circle(_ identifier: String, radius: Double = 100) -> CLCircularRegion {
        CLCircularRegion(
            center: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), radius: radius, identifier: identifier)
    }

    // MARK: - Permission

    @Test func `R6: Each new manager's delegate gets the permission once, and every later change`()
        async throws
    {
        let app = try App { $0.known.permission = .ask }
        try await app.may(.notDetermined)
        #expect(app.manager.authorizationStatus == .notDetermined)
        app.service.allow(.always)
        try await app.may(.authorizedAlways)
        app.service.allow(.always)
        app.service.breakStreams()
        try await app.service.state.wait(for: "the channel") { !$0.channels.isEmpty }
        app.service.allow(.denied)
        #expect(
            try await app.listener.heard.are(["may notDetermined", "may authorizedAlways", "may denied"]))
        #expect(app.manager.authorizationStatus == .denied)
        // The library also notifies another manager once.
        let (manager, listener) = (CLLocationManager(connection: app.connection), LocationListener())
        manager.delegate = listener
        #expect(try await listener.heard.are(["may denied"]))
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: A delegate written before iOS 14 also gets the permission`() async throws {
        let app = try App { $0.known.permission = .whenInUse }
        let delegate = OldDelegate()
        let manager = CLLocationManager(connection: app.connection)
        manager.delegate = delegate
        try await delegate.statuses.wait(for: "the word") { $0 == [.authorizedWhenInUse] }
        withExtendedLifetime(manager) {}
    }

    @Test func `R6: The library asks the user only if the answer can change the permission`() async throws {
        let app = try App { $0.known.permission = .ask }
        app.manager.requestWhenInUseAuthorization()
        try await app.service.state.wait(for: "the question") { $0.location.asked == [.whenInUse] }
        app.service.allow(.whenInUse)
        try await app.may(.authorizedWhenInUse)
        app.manager.requestWhenInUseAuthorization()
        app.manager.requestAlwaysAuthorization()
        try await app.service.state.wait(for: "the next") { $0.location.asked.last == .always }
        for permission in [LocationPermission.denied, .always] {
            app.service.allow(permission)
            try await app.may(CLAuthorizationStatus(permission))
            app.manager.requestWhenInUseAuthorization()
            app.manager.requestAlwaysAuthorization()
        }
        app.service.allow(.ask)
        try await app.may(.notDetermined)
        app.manager.requestAlwaysAuthorization()
        try await app.service.state.wait(for: "the last") { $0.location.asked.count >= 3 }
        #expect(app.service.state.read { $0.location.asked } == [.whenInUse, .always, .always])
    }

    @Test func `R6: The authorization of a program without a desktop entry is restricted`() async throws {
        let world = try World()
        let refusal = Problem.taskNotPermitted("The program has no desktop entry.")
        world.service.state.update { state in
            for line in ["GET /v1/process/location", "PUT /v1/process/location/regions/home"] {
                state.refusals[line] = refusal
            }
        }
        let (manager, listener) = (CLLocationManager(connection: world.process().connection), LocationListener())
        manager.delegate = listener
        #expect(manager.authorizationStatus == .restricted)
        try await listener.heard.wait(for: "the word") { $0 == ["may restricted"] }
        manager.startMonitoring(for: circle("home"))
        #expect(try await listener.heard.are(["may restricted", "failed home 4"]))
        #expect(manager.monitoredRegions.isEmpty && manager.location == nil)
    }

    // MARK: - Regions

    @Test func `R6: monitoredRegions contains the service's regions, with later requests applied`() async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        let region = circle("home", radius: 250)
        region.notifyOnExit = false
        app.manager.startMonitoring(for: region)
        #expect(app.manager.monitoredRegions == [region])
        try await app.hears("started home")
        let sent = try #require(app.service.state.read { $0.location.known.regions.first?.region })
        #expect(sent.radius == 250 && sent.center.latitude == 52.5 && sent.notifiesOnEntry && !sent.notifiesOnExit)
        app.manager.startMonitoring(for: circle("home", radius: 300))
        app.manager.startMonitoring(for: circle("work"))
        try await app.hears("started work")
        // The other manager belongs to a process that starts later.
        let later = CLLocationManager(connection: app.world.process().connection)
        for manager in [app.manager, later] {
            let found = manager.monitoredRegions.compactMap { $0 as? CLCircularRegion }
            #expect(found.map(\.radius).sorted() == [100, 300])
        }
        app.manager.stopMonitoring(for: circle("home"))
        #expect(app.manager.monitoredRegions.map(\.identifier) == ["work"])
        try await app.service.state.wait(for: "the end") {
            $0.location.changes == ["+home", "+home", "+work", "-home"]
        }
    }

    @Test func `R6: Every delegate gets an error for a region that is too large or exceeds the limit`() async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        app.manager.startMonitoring(for: circle("huge", radius: app.manager.maximumRegionMonitoringDistance + 1))
        try await app.hears("failed huge 5")
        app.service.state.update { state in
            state.refusals["PUT /v1/process/location/regions/more"] = Problem(
                type: "/problems/too-many-regions", title: "Too many regions", status: 409)
        }
        app.manager.startMonitoring(for: circle("more"))
        app.manager.startMonitoring(for: circle("home"))
        try await app.hears("started home")
        #expect(
            app.listener.heard.read { $0 } == [
                "may authorizedAlways", "failed huge 5", "failed more 5", "started home",
            ])
        #expect(app.manager.monitoredRegions.map(\.identifier) == ["home"])
    }

    @Test func `R6: Monitoring of a region starts after the user's permission, and fails after a denial`()
        async throws
    {
        let app = try App { $0.known.permission = .ask }
        try await app.may(.notDetermined)
        app.manager.startMonitoring(for: circle("home"))
        try await app.service.state.wait(for: "the region") { !$0.location.known.regions.isEmpty }
        app.service.allow(.always)
        try await app.hears("started home")
        app.service.allow(.denied)
        try await app.may(.denied)
        app.manager.startMonitoring(for: circle("work"))
        try await app.hears("failed work 4")
        #expect(
            app.listener.heard.read { $0 } == [
                "may notDetermined", "may authorizedAlways", "started home", "may denied", "failed work 4",
            ])
        #expect(app.manager.monitoredRegions.count == 2)
    }

    @Test func `R6: The library stores a region without a location source, and reports the missing source`()
        async throws
    {
        let app = try App { $0.known.canMonitorRegions = false }
        try await app.may(.authorizedAlways)
        app.manager.startMonitoring(for: circle("home"))
        try await app.hears("failed home 6")
        #expect(app.manager.monitoredRegions.count == 1)
    }

    @Test func `R6: Without a service, calls return, and their requests are sent in order later`() async throws {
        let world = try World()
        world.service.stop()
        let (manager, listener) = (CLLocationManager(connection: world.process().connection), LocationListener())
        manager.delegate = listener
        #expect(manager.authorizationStatus == .notDetermined && manager.location == nil)
        manager.requestAlwaysAuthorization()
        manager.startMonitoring(for: circle("home"))
        manager.startMonitoring(for: circle("work"))
        manager.stopMonitoring(for: circle("home"))
        manager.startMonitoringSignificantLocationChanges()
        #expect(manager.monitoredRegions.map(\.identifier) == ["work"])
        try await listener.heard.wait(for: "the word that is not there") { $0 == ["may notDetermined"] }
        world.service.state.update { $0.location.known.permission = .ask }
        try world.service.start()
        try await world.service.state.wait(for: "everything") { state in
            state.location.known.monitorsSignificantChanges && state.location.asked == [.always]
        }
        #expect(world.service.state.read { $0.location.changes.suffix(2) } == ["+work", "-home"])
        world.service.allow(.always)
        try await listener.heard.wait(for: "the start") { $0.contains("started work") }
        withExtendedLifetime(manager) {}
    }

    // MARK: - States of regions

    @Test func `R6: The delegate gets a region's unknown state once the state is known`() async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        app.manager.startMonitoring(for: circle("home"))
        app.manager.requestState(for: circle("home"))
        // The library requests the state once after the region was added, and then again.
        try await app.service.state.wait(for: "the looks") { state in
            state.log.drop { $0 != "PUT /v1/process/location/regions/home" }
                .count { $0 == "GET /v1/process/location" } >= 2
        }
        app.service.state.update { $0.location.known.regions[0].state = .inside }
        try await app.hears("inside home")
        #expect(app.listener.heard.read { $0 } == ["may authorizedAlways", "started home", "inside home"])
    }

    @Test func `R6: The last location determines the state of a region that is not monitored`() async throws {
        let app = try App { state in
            state.known.place = Coordinate(latitude: 52.5, longitude: 13.41).map {
                Place($0, accuracy: 50, time: Date())
            }
        }
        app.manager.requestState(for: circle("near", radius: 1_000))
        app.manager.requestState(for: circle("far"))
        app.manager.requestState(for: circle("edge", radius: 670))
        app.manager.requestState(for: circle("none", radius: -1))
        try await app.listener.heard.wait(for: "all states") { $0.count { !$0.hasPrefix("may") } == 4 }
        #expect(
            Set(app.listener.heard.read { $0.filter { !$0.hasPrefix("may") } }) == [
                "inside near", "outside far", "unknown edge", "unknown none",
            ])
    }

    // MARK: - Significant changes

    @Test func `R7: The library monitors significant changes while any manager does`() async throws {
        let app = try App()
        let second = CLLocationManager(connection: app.connection)
        app.manager.startMonitoringSignificantLocationChanges()
        second.startMonitoringSignificantLocationChanges()
        try await app.service.state.wait(for: "the start") { $0.location.known.monitorsSignificantChanges }
        app.manager.stopMonitoringSignificantLocationChanges()
        app.manager.startMonitoring(for: circle("home"))
        try await app.hears("started home")
        #expect(app.service.state.read { $0.location.known.monitorsSignificantChanges })
        second.stopMonitoringSignificantLocationChanges()
        try await app.service.state.wait(for: "the end") { !$0.location.known.monitorsSignificantChanges }
    }

    @Test(arguments: [(LocationPermission.denied, true, 1), (.always, false, 0)])
    func `R7: The delegate gets the reason if changes cannot be monitored`(
        _ permission: LocationPermission, _ canMonitor: Bool, _ code: Int
    ) async throws {
        let app = try App { state in
            state.known.permission = permission
            state.known.canMonitorSignificantChanges = canMonitor
        }
        app.manager.startMonitoringSignificantLocationChanges()
        try await app.hears("failed \(code)")
    }

    @Test func `R7: If the user withdraws the permission, monitoring ends with an error`() async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        app.manager.startMonitoringSignificantLocationChanges()
        try await app.service.state.wait(for: "the start") { $0.location.known.monitorsSignificantChanges }
        app.service.allow(.denied)
        try await app.hears("failed 1")
        #expect(try await app.listener.heard.are(["may authorizedAlways", "may denied", "failed 1"]))
    }

    @Test(arguments: [true, false])
    func `R7: The delegate gets a denial during the start of monitoring once`(_ isRefused: Bool) async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        let (line, gate) = ("PUT /v1/process/location/significant-changes", Gate())
        app.service.state.update { state in
            state.gates[line] = gate
            if isRefused { state.refusals[line] = Problem.forbidden("The user has refused.") }
        }
        app.manager.startMonitoringSignificantLocationChanges()
        try await app.service.state.wait(for: "the start") { $0.open[line] == 1 }
        app.service.allow(.denied)
        try await app.hears("failed 1")
        gate.open()
        // The region's result arrives after the response, so the result of the start is known by then.
        app.manager.startMonitoring(for: circle("home"))
        try await app.hears("failed home 4")
        let heard = ["may authorizedAlways", "may denied", "failed 1", "failed home 4"]
        #expect(app.listener.heard.read { $0 } == heard)
        // A new start of monitoring is denied again.
        app.manager.startMonitoringSignificantLocationChanges()
        #expect(try await app.listener.heard.are(heard + ["failed 1"]))
    }

    @Test func `R7: The delegate gets another error for each denial that follows a permission`() async throws {
        let app = try App()
        try await app.may(.authorizedAlways)
        app.manager.startMonitoringSignificantLocationChanges()
        try await app.service.state.wait(for: "the start") { $0.location.known.monitorsSignificantChanges }
        for count in 1...2 {
            app.service.allow(.denied)
            try await app.listener.heard.wait(for: "no \(count)") { $0.count { $0 == "failed 1" } == count }
            app.service.allow(.always)
            try await app.may(.authorizedAlways)
        }
        #expect(app.listener.heard.read { $0.count { $0 == "failed 1" } } == 2)
    }

    // MARK: - Location and settings

    @Test func `R6: A manager returns the location only with permission, and keeps the app's settings`() async throws {
        let app = try App { state in
            state.known.place = Coordinate(latitude: 48.9, longitude: 2.3).map {
                Place($0, accuracy: 12, time: Date(timeIntervalSince1970: 1_800_000_000))
            }
        }
        let location = try #require(app.manager.location)
        #expect(location.coordinate.longitude == 2.3 && location.horizontalAccuracy == 12)
        #expect(location.timestamp == Date(timeIntervalSince1970: 1_800_000_000))
        app.service.allow(.denied)
        try await app.may(.denied)
        #expect(app.manager.location == nil)
        let manager = app.manager
        #expect(manager.desiredAccuracy == kCLLocationAccuracyBest && manager.distanceFilter == kCLDistanceFilterNone)
        manager.desiredAccuracy = kCLLocationAccuracyHundredMeters
        manager.distanceFilter = 50
        manager.activityType = .fitness
        manager.allowsBackgroundLocationUpdates = true
        manager.pausesLocationUpdatesAutomatically = false
        manager.showsBackgroundLocationIndicator = true
        #expect(manager.desiredAccuracy == 100 && manager.distanceFilter == 50 && manager.activityType == .fitness)
        #expect(manager.allowsBackgroundLocationUpdates && !manager.pausesLocationUpdatesAutomatically)
        #expect(manager.showsBackgroundLocationIndicator && manager.accuracyAuthorization == .fullAccuracy)
    }

    @Test func `R6: The class methods describe the device, and use the process's own connection`() async {
        await #expect(processExitsWith: .success) {
            let world = try World.ofThisProcess()
            world.service.state.update { $0.location.known.canMonitorSignificantChanges = false }
            try #require(CLLocationManager.authorizationStatus() == .authorizedAlways)
            try #require(CLLocationManager.locationServicesEnabled())
            try #require(CLLocationManager.isMonitoringAvailable(for: CLCircularRegion.self))
            try #require(!CLLocationManager.isMonitoringAvailable(for: NSObject.self))
            try #require(!CLLocationManager.significantLocationChangeMonitoringAvailable())
            try #require(CLLocationManager().authorizationStatus == .authorizedAlways)
            exit(EXIT_SUCCESS)
        }
    }
}

private final class OldDelegate: NSObject, CLLocationManagerDelegate, Sendable {
    let statuses = Watched<[CLAuthorizationStatus]>([])

    func locationManager(_ manager: CLLocationManager, didChangeAuthorization status: CLAuthorizationStatus) {
        statuses.update { $0.append(status) }
    }
}
