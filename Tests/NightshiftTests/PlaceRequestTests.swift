import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of locations for a running app: the requests to the service, and the calls to the delegate (row R6).
@Suite(.timeLimit(.minutes(20))) struct PlaceRequestTests {
    /// A process with a manager whose delegate records its calls.
    private final class App: Sendable {
        let world: World
        let connection: ServiceConnection
        let manager: CLLocationManager
        let listener = LocationListener()

        init() throws {
            world = try World()
            connection = world.process().connection
            manager = CLLocationManager(connection: connection)
            manager.delegate = listener
        }

        var service: ScriptedService { world.service }

        /// Waits until the service has exactly these requests.
        func asks(_ wanted: String...) async throws {
            try await service.state.wait(for: "\(wanted)") {
                $0.location.places.values.map(\.wanted).sorted() == wanted.sorted()
            }
        }

        func hears(_ words: String...) async throws {
            try await listener.heard.wait(for: "\(words)") { Self.answers(in: $0) == words }
        }

        /// The locations and errors that the delegate has received.
        var answers: [String] { listener.heard.read(Self.answers) }

        private static func answers(in heard: [String]) -> [String] { heard.filter { !$0.hasPrefix("may") } }
    }

    private static func update(_ latitude: Double) throws -> LocationUpdate {
        let place = try #require(Coordinate(latitude: latitude, longitude: 13))
        return LocationUpdate(place: Place(place, accuracy: 8, time: Date(timeIntervalSince1970: 1_800_000_000)))
    }

    @Test func `R6: requestLocation delivers one location, then the request ends`() async throws {
        let app = try App()
        app.manager.desiredAccuracy = kCLLocationAccuracyHundredMeters
        app.manager.requestLocation()
        try await app.asks("100.0 0.0 true")
        app.service.answer(try Self.update(52))
        try await app.hears(#"at ["52.0, 13.0"]"#)
        app.service.endPlaces()
        try await app.asks()
        #expect(app.manager.location?.coordinate.latitude == 52)
        #expect(app.service.state.read(\.location.placeRequests) == 1)
        app.manager.requestLocation()
        try await app.asks("100.0 0.0 true")
    }

    @Test func `R6: A second requestLocation replaces the first, and stopUpdatingLocation cancels it`() async throws {
        let app = try App()
        app.manager.requestLocation()
        try await app.asks("0.0 0.0 true")
        app.manager.desiredAccuracy = kCLLocationAccuracyKilometer
        app.manager.requestLocation()
        try await app.asks("1000.0 0.0 true")
        app.manager.stopUpdatingLocation()
        try await app.asks()
        app.manager.requestLocation()
        try await app.asks("1000.0 0.0 true")
        app.service.answer(LocationUpdate(failure: .unknown))
        try await app.hears("failed \(CLError.Code.locationUnknown.rawValue)")
    }

    @Test func `R6: startUpdatingLocation delivers locations with the manager's accuracy and distance`()
        async throws
    {
        let app = try App()
        app.manager.desiredAccuracy = kCLLocationAccuracyNearestTenMeters
        app.manager.distanceFilter = 25
        app.manager.requestLocation()
        try await app.asks("10.0 0.0 true")
        // The updates replace the request for one location. Such a request does nothing while updates are on.
        app.manager.startUpdatingLocation()
        app.manager.startUpdatingLocation()
        app.manager.requestLocation()
        try await app.asks("10.0 25.0")
        for latitude in [52.0, 53] { app.service.answer(try Self.update(latitude)) }
        app.service.answer(LocationUpdate(failure: .unknown))
        app.service.answer(try Self.update(54))
        try await app.hears(#"at ["52.0, 13.0"]"#, #"at ["53.0, 13.0"]"#, "failed 0", #"at ["54.0, 13.0"]"#)
        app.manager.stopUpdatingLocation()
        try await app.asks()
    }

    @Test func `R6: A new accuracy applies at once while updates are on`() async throws {
        let app = try App()
        app.manager.startUpdatingLocation()
        try await app.asks("0.0 0.0")
        app.manager.desiredAccuracy = kCLLocationAccuracyThreeKilometers
        try await app.asks("3000.0 0.0")
        app.manager.distanceFilter = CLLocationDistanceMax
        try await app.asks("3000.0 20000000.0")
        app.manager.distanceFilter = .nan
        try await app.asks("3000.0 0.0")
    }

    @Test func `R6: The delegate gets a refusal as the error denied, and updates begin after permission`() async throws
    {
        let app = try App()
        app.manager.startUpdatingLocation()
        try await app.asks("0.0 0.0")
        app.service.answer(LocationUpdate(failure: .denied))
        try await app.hears("failed \(CLError.Code.denied.rawValue)")
        app.service.answer(try Self.update(52))
        try await app.hears("failed 1", #"at ["52.0, 13.0"]"#)
        // This program has no desktop entry.
        let stranger = try App()
        stranger.service.state.update { $0.refusals["GET /v1/process/location/updates"] = .forbidden("No entry.") }
        stranger.manager.requestLocation()
        try await stranger.hears("failed 1")
    }

    @Test func `R6: Location updates continue when the service is back`() async throws {
        let app = try App()
        app.manager.startUpdatingLocation()
        try await app.asks("0.0 0.0")
        app.service.stop()
        app.service.endPlaces()
        try await app.asks()
        try app.service.start()
        try await app.asks("0.0 0.0")
        app.service.answer(try Self.update(52))
        try await app.hears(#"at ["52.0, 13.0"]"#)
    }

    @Test func `R6: Each manager has its own request, which ends when the manager is released`() async throws {
        let app = try App()
        app.manager.startUpdatingLocation()
        do {
            let other = CLLocationManager(connection: app.connection)
            other.desiredAccuracy = 500
            other.startUpdatingLocation()
            try await app.asks("0.0 0.0", "500.0 0.0")
        }
        try await app.asks("0.0 0.0")
    }

    @Test func `R6: The library sends the permission request before the location request`() async throws {
        let app = try App()
        app.service.state.update { $0.location.known.permission = .ask }
        app.manager.requestAlwaysAuthorization()
        app.manager.startUpdatingLocation()
        try await app.asks("0.0 0.0")
        #expect(app.service.state.read(\.location.asked) == [.always])
    }

    // MARK: - Unavailable features

    @Test func `R6: Starting headings, visits or beacons fails as on Apple's systems`()
        async throws
    {
        let app = try App()
        #expect(!CLLocationManager.headingAvailable() && !CLLocationManager.isRangingAvailable())
        #expect(!CLLocationManager.isMonitoringAvailable(for: CLBeaconRegion.self))
        #expect(app.manager.heading == nil && app.manager.accuracyAuthorization == .fullAccuracy)
        app.manager.startUpdatingHeading()
        try await app.hears("failed 3")
        app.manager.startMonitoringVisits()
        try await app.hears("failed 3", "failed 0")
        let region = CLBeaconRegion(uuid: UUID(), major: 1, identifier: "desk")
        app.manager.startMonitoring(for: region)
        try await app.hears("failed 3", "failed 0", "failed desk 5")
        app.manager.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
        app.manager.startRangingBeacons(in: region)
        try await app.hears("failed 3", "failed 0", "failed desk 5", "no ranging 16", "no ranging desk 16")
        app.manager.stopUpdatingHeading()
        app.manager.stopMonitoringVisits()
        #expect(app.service.state.read(\.location.changes) == [] && app.manager.rangedBeaconConstraints.isEmpty)
    }
}
