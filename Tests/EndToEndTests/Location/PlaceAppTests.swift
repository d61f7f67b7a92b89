import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of a Swift app that requests its location while it runs: a real process, the real service, and GeoClue mocked
/// by dbusmock.
@Suite(.serialized, .timeLimit(.minutes(20))) struct PlaceAppTests {
    /// A service whose only location source is GeoClue on a private bus.
    private struct World {
        let bus: PrivateBus
        let geoClue: MockLocationService
        let service: Service

        init() async throws {
            bus = try await PrivateBus.started()
            geoClue = try await MockLocationService(.geoClue, on: bus)
            service = try Service(environment: [
                "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "NIGHTSHIFT_GPSD": "none",
            ])
        }

        func move(_ latitude: Double, accuracy: Double = 8) async throws {
            try await geoClue.tell("SetPlace", "ddd", "\(latitude)", "13.5", "\(accuracy)")
        }

        /// Suspends until GeoClue has no client of the service, which means that no receiver is on.
        func waitUntilOff() async throws {
            try await eventually("GeoClue to be left alone", within: .seconds(30)) {
                try await geoClue.tell("Clients").contains(" 0 there")
            }
        }
    }

    private func allow(_ app: AppFixture, _ permission: LocationPermission) async throws {
        let change = AppLocationChange(permission: permission)
        try await app.api.send("PATCH", "/v1/location/\(app.app)", try JSON.encode(change))
    }

    private func status(_ app: AppFixture) async throws -> AppLocationStatus {
        try await app.api.get("/v1/location/\(app.app)")
    }

    @Test func `R6: The receiver is on only while an app that wants locations runs and is not suspended`()
        async throws
    {
        let world = try await World()
        try await world.move(52.5)
        let app = try AppFixture(service: world.service) { orders in
            var location = LocationOrder()
            location.updatesFrom = .launched
            location.accuracy = 10
            location.distance = 100
            orders.location = location
        }
        try await app.install()
        try await allow(app, .whenInUse)
        try await app.launch()
        #expect(try await app.wait(for: .located).text == "52.5,13.5,8.0")
        // The app's distance filter ignores a move of 40 m, but not one of 400 m.
        try await world.move(52.50036)
        try await world.move(52.5036)
        #expect(try await app.wait(for: .located, count: 2).text == "52.5036,13.5,8.0")
        let shown = try await world.service.cli(["location"])
        #expect(shown.output.contains("\(app.app) requests updates, accurate to 10 m, since"), "\(shown.output)")
        let why = try await world.service.cli(["why", app.app])
        #expect(why.output.contains("keeps the receiver on"), "\(why.output)")

        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await eventually("the pause") { try await status(app).updates?.isOn == false }
        try await world.waitUntilOff()
        let seconds = try await status(app).receiverSeconds
        #expect(seconds > 0)
        try await world.move(53)
        let why2 = try await world.service.cli(["why", app.app])
        #expect(why2.output.contains("it is suspended. The receiver stays off"), "\(why2.output)")
        #expect(app.seen(.located).count == 2)
        try await app.perform("activate")
        // The first location may be the previous one.
        try await eventually("the new place") { app.seen(.located).last?.text == "53.0,13.5,8.0" }

        try await app.killApp()
        try await eventually("the end of the request") { try await status(app).updates == nil }
        try await world.waitUntilOff()
        // A location does not launch the app again.
        try await world.move(54)
        #expect(app.seen(.launched).count == 1)
    }

    @Test func `R6: An app that requests one location gets it, or the error denied if the user refuses`() async throws {
        let world = try await World()
        try await world.move(52.5)
        let app = try AppFixture(service: world.service) { orders in
            var location = LocationOrder()
            location.placeAt = .active
            orders.location = location
        }
        try await app.install()
        try await allow(app, .whenInUse)
        try await app.launch()
        #expect(try await app.wait(for: .located).text == "52.5,13.5,8.0")
        try await world.waitUntilOff()
        #expect(try await status(app).updates == nil)
        try await allow(app, .denied)
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await app.perform("activate")
        #expect(try await app.wait(for: .locationFailed).code == 1)
        #expect(app.seen(.located).count == 1)
    }

    @Test func `R6: Without any location source the app gets the error locationUnknown`() async throws {
        let world = try await World()
        try await world.geoClue.tell("Refuse", "s", "no")
        let app = try AppFixture(service: world.service) { orders in
            var location = LocationOrder()
            location.placeAt = .launched
            orders.location = location
        }
        try await app.install()
        try await allow(app, .whenInUse)
        try await app.launch()
        #expect(try await app.wait(for: .locationFailed, within: .seconds(90)).code == 0)
        #expect(app.seen(.located).isEmpty)
    }

    @Test func `R6: An app's location updates continue when the service is back`() async throws {
        let world = try await World()
        try await world.move(52.5)
        let app = try AppFixture(service: world.service) { orders in
            var location = LocationOrder()
            location.updatesFrom = .launched
            location.distance = 100
            orders.location = location
        }
        try await app.install()
        try await allow(app, .whenInUse)
        try await app.launch()
        try await app.wait(for: .located)
        // The app's library does not restart a stopped service.
        try await world.service.stop()
        try await world.service.start()
        try await world.move(53)
        try await eventually("the new place", within: .seconds(60)) {
            app.seen(.located).last?.text == "53.0,13.5,8.0"
        }
        #expect(app.seen(.launched).count == 1)
    }
}
