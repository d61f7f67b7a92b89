import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of apps that real location sources wake during a walk, at twenty times its speed.
@Suite(.enabled(if: PreloadedLibrary.isPossible, "needs a compiler for C"), .timeLimit(.minutes(20)))
struct RegionWalkTests {
    @Test func `R6: Each region event on a gpsd walk wakes a script once, though the service is killed`()
        async throws
    {
        let (receiver, machine) = (try FakeReceiver(walk: BlockWalk().places, speed: 20), try await SleepingMachine())
        let service = try Service(environment: ["NIGHTSHIFT_GPSD": "127.0.0.1:\(receiver.port)"])
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await service.start(under: machine.command)
        try await receiver.start()
        defer { receiver.stop() }
        let script = try await WatchingScript(on: service)
        for count in 1...2 {
            try await eventually("crossing \(count)", within: .seconds(300)) { try script.done().count >= count }
            try await service.kill()
            try await service.start(under: machine.command)
        }
        try await eventually("the end of every wake") { try await service.wakesOnDisk() == 0 }
        // The test checks events recorded up to this status and ignores later ones.
        let status = try await script.status()
        let events = Array(try script.begun().prefix(status.regions.first?.crossings ?? 0))
        #expect(events.count >= 2 && events.count == status.regions.first?.crossings, "\(status)")
        // Entries and exits alternate, wherever the walk was when the region was added.
        for (number, event) in events.enumerated() {
            #expect(number == 0 || event.kind != events[number - 1].kind)
            let place = try #require(event.place.flatMap { Coordinate(latitude: $0.latitude, longitude: $0.longitude) })
            let home = BlockWalk.home
            let center = try #require(Coordinate(latitude: home.latitude, longitude: home.longitude))
            #expect((place.distance(to: center) < BlockWalk.radius) == (event.kind == .entered))
        }
    }

    @Test func `R6: Each region event on a walk that GeoClue reports wakes a suspended app once`() async throws {
        let bus = try await PrivateBus.started()
        let mock = try await MockLocationService(.geoClue, on: bus)
        let machine = try await SleepingMachine()
        let service = try Service(environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "NIGHTSHIFT_GPSD": "none"])
        let app = try AppFixture(service: service) { orders in
            var location = LocationOrder()
            let home = BlockWalk.home
            location.regions = [
                RegionOrder("home", home.latitude, home.longitude, radius: BlockWalk.radius, at: .launched)
            ]
            location.regions[0].asksForState = true
            orders.location = location
        }
        let begun = Watched<ContinuousClock.Instant?>(nil)
        let walk = Task { try await Self.walk(mock, from: begun) }
        defer { walk.cancel() }
        try await service.start(under: machine.command)
        try await app.install()
        let always = try JSON.encode(AppLocationChange(permission: .always))
        try await service.api.send("PATCH", "/v1/location/\(app.app)", always)
        try await app.launch()
        #expect(try await app.wait(for: .regionState, within: .seconds(60)).text == "outside")
        try await app.perform("background")
        try await app.waitUntilSuspended()
        begun.update { $0 = .now }
        try await app.wait(for: .entered, within: .seconds(300))
        try await app.wait(for: .left, within: .seconds(300))
        let crossings = app.seen().filter { $0.event == .entered || $0.event == .left }
        #expect(crossings.map(\.event) == [.entered, .left] && crossings.allSatisfy { $0.description == "home" })
        #expect(app.seen(.regionState).map(\.text) == ["outside", "inside", "outside"])
        #expect(app.seen(.launched).count == 1)
    }

    /// Makes GeoClue report the locations of the walk, but only the first location until the walk has started. Ends
    /// when the task is cancelled.
    private static func walk(_ mock: MockLocationService, from begun: Watched<ContinuousClock.Instant?>) async throws {
        let places = BlockWalk().places
        while !Task.isCancelled {
            let walked = begun.read { $0.map { .now - $0 } ?? .zero }
            let second = Int(saturating: walked / .seconds(1) * Double(SleepingMachine.speed))
            let place = places[second % places.count]
            try await mock.tell("SetPlace", "ddd", "\(place.latitude)", "\(place.longitude)", "15")
            try await passTime(.milliseconds(200), because: "a source tells a few places in a second")
        }
    }

    @Test func `R7: A change of the modem's cell wakes a suspended app, or launches an app that has ended`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let (modem, places) = (
            try await MockLocationService(.modemManager, on: bus), try await MockLocationService(.geoClue, on: bus)
        )
        try await modem.tell("Plug", "u", "1")
        try await modem.tell("SetCell", "s", "262,02,0001,000A,0001")
        let machine = try await SleepingMachine()
        let service = try Service(environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address, "NIGHTSHIFT_GPSD": "none"])
        let app = try AppFixture(service: service) { orders in
            var location = LocationOrder()
            location.changesFrom = .launched
            orders.location = location
        }
        try await service.start(under: machine.command)
        try await app.install()
        let always = try JSON.encode(AppLocationChange(permission: .always))
        try await service.api.send("PATCH", "/v1/location/\(app.app)", always)
        // On this machine's clock the sources have only a quarter of a second to report that they are available.
        try await eventually("the sources") {
            let status: LocationStatus = try await service.api.get("/v1/location")
            return status.sources.contains(where: \.isAvailable)
        }
        try await app.launch()
        try await eventually("the modem to tell its cell") { try await modem.tell("Modems").contains("signals 1") }
        // The location stays the same, and only the cells change.
        try await places.tell("SetPlace", "ddd", "52.52", "13.405", "300")
        #expect(try await app.wait(for: .located, within: .seconds(60)).text == "52.52,13.405,300.0")
        try await app.perform("background")
        try await app.waitUntilSuspended()
        try await modem.tell("SetCell", "s", "262,02,0001,000B,0001")
        try await app.wait(for: .located, count: 2, within: .seconds(120))
        try await app.waitUntilSuspended()
        #expect(app.seen(.launched).count == 1)

        try app.order { $0.location?.changesFrom = .launchedInBackground }
        try await app.quit()
        try await modem.tell("SetCell", "s", "262,02,0001,000C,0001")
        try await app.wait(for: .located, count: 3, within: .seconds(120))
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.launched).last?.description == "location")
        try await app.waitUntilSuspended()
        let status: AppLocationStatus = try await service.api.get("/v1/location/\(app.app)")
        #expect(status.wakes == 3 && app.seen(.located).count == 3 && app.seen(.locationFailed).isEmpty)
        // The journal must not reveal cells or locations.
        let journal = try await service.cli(["journal", "--since", "all"]).output
        #expect(journal.contains("location changed significantly"), "\(journal)")
        #expect(!journal.contains("000B") && !journal.contains("52.52"), "\(journal)")
    }
}
