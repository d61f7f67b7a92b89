import Device
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests with GeoClue and ModemManager mocked by dbusmock, on a private bus.
@Suite(.timeLimit(.minutes(20))) struct LocationBusTests {
    private static let berlin = ["52.5163", "13.3777"]

    private static func near(_ fix: Fix?) -> Bool {
        fix.map { abs($0.place.latitude - 52.5163) < 1e-9 && abs($0.place.longitude - 13.3777) < 1e-9 } == true
    }

    @Test func `R6: Without gpsd the service asks GeoClue until the location is exact enough`() async throws {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        let watched = try WatchedSources(bus: bus.address)
        try await watched.waitForSources("GeoClue") { $0["geoclue"]?.isAvailable == true }
        #expect(watched.last?.regions == true && watched.last?.changes == true)
        #expect(try await geoClue.tell("Clients").contains("0 made"), "nobody wants anything yet")
        watched.sources.want(FixDemand(fix: 50))
        try await eventually("the client of GeoClue") {
            try await geoClue.tell("Clients").contains("1 there: nightshift level 8 distance 0 time 0")
        }
        for place in [["52", "13", "400"], ["nan", "13", "5"], ["91", "13", "5"], ["52", "13", "-1"]] {
            try await geoClue.tell("SetPlace", "ddd", place[0], place[1], place[2])
        }
        try await geoClue.tell("SetPlace", "ddd", Self.berlin[0], Self.berlin[1], "50")
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.count == 1 && watched.fixes.first?.source == "geoclue")
        #expect(Self.near(watched.fixes.first?.fix))
        #expect(try #require(watched.receiver.first) > 0, "for an exact place GeoClue may use a receiver")
        try await eventually("its end") { try await geoClue.tell("Clients").contains("1 made, 0 there") }
    }

    @Test func `R6: The service does not ask GeoClue for more accuracy than needed`() async throws {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        try await geoClue.tell("SetPlace", "ddd", Self.berlin[0], Self.berlin[1], "300")
        let watched = try WatchedSources(bus: bus.address)
        watched.sources.want(FixDemand(fix: 500))
        try await watched.waitForEnd(of: 1)
        #expect(Self.near(watched.fixes.first?.fix) && watched.receiver == [0])
        let calls = try await geoClue.calls()
        #expect(calls.contains("CreateClient") && calls.contains("DeleteClient"))
    }

    @Test func `R7: The service gets location changes from a modem's cells, or otherwise from GeoClue`()
        async throws
    {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        let watched = try WatchedSources(bus: bus.address)
        watched.sources.want(FixDemand(watchesChanges: true))
        try await eventually("the client of GeoClue") {
            try await geoClue.tell("Clients").contains("nightshift level 6 distance 500 time 300")
        }
        try await geoClue.tell("SetPlace", "ddd", Self.berlin[0], Self.berlin[1], "900")
        try await watched.wait(for: "the place") { $0.contains { $0.fix != nil } }
        #expect(watched.receiver.isEmpty, "no receiver is on for changes")
        let manager = try await MockLocationService(.modemManager, on: bus)
        try await manager.tell("SetCell", "s", "262,02,1F,A1B2C3,4E")
        try await manager.tell("Plug", "u", "3")
        try await watched.wait(for: "the cell") { $0.contains { $0.cell == "262,02,1F,A1B2C3,4E" } }
        #expect(try await manager.tell("Modems").contains("enabled 1 signals 1"))
        try await eventually("GeoClue's rest") { try await geoClue.tell("Clients").contains(" 0 there") }
        // Losing all cells and returning to the same cell is not a change of cell.
        for cell in ["262,02,1F,A1B2C4,4E", ",,0,0,0", "262,02,1F,A1B2C4,4E", "nonsense", "262,02,1F,A1B2C5,4E"] {
            try await manager.tell("SetCell", "s", cell)
        }
        try await watched.wait(for: "the last cell") { $0.contains { $0.cell == "262,02,1F,A1B2C5,4E" } }
        #expect(watched.cells == ["262,02,1F,A1B2C3,4E", "262,02,1F,A1B2C4,4E", "262,02,1F,A1B2C5,4E"])
        watched.sources.want(FixDemand())
        try await eventually("the modem's former state") {
            try await manager.tell("Modems").contains("enabled 0 signals 0")
        }
        // Without the modem, GeoClue is used again.
        watched.sources.want(FixDemand(watchesChanges: true))
        try await eventually("the modem's signals") { try await manager.tell("Modems").contains("signals 1") }
        try await manager.tell("Unplug")
        try await eventually("the client of GeoClue") { try await geoClue.tell("Clients").contains(" 1 there") }
    }

    @Test func `R7: The service uses GeoClue if a modem may not report its cell, and shows the reason`() async throws {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        let manager = try await MockLocationService(.modemManager, on: bus)
        try await manager.tell("Refuse", "s", "not allowed here")
        try await manager.tell("Plug", "u", "1")
        let watched = try WatchedSources(bus: bus.address)
        watched.sources.want(FixDemand(watchesChanges: true))
        try await watched.waitForSources("the refusal") {
            $0["modem"]?.isAvailable == false && $0["modem"]?.sentence.contains("not allowed here") == true
        }
        try await eventually("the client of GeoClue") { try await geoClue.tell("Clients").contains("level 6") }
    }

    @Test func `R7: A modem reports its cell each time it is switched on`() async throws {
        let bus = try await PrivateBus.started()
        let manager = try await MockLocationService(.modemManager, on: bus)
        try await manager.tell("SetCell", "s", "262,02,1F,A1B2C3,4E")
        try await manager.tell("Switch", "i", "3")
        try await manager.tell("Plug", "u", "1")
        let watched = try WatchedSources(bus: bus.address)
        watched.sources.want(FixDemand(watchesChanges: true))
        try await watched.waitForSources("a modem that is off") {
            $0["modem"]?.sentence.contains("does not report its cell") == true
        }
        try await manager.tell("Switch", "i", "6")
        try await watched.wait(for: "the cell") { $0.contains { $0.cell == "262,02,1F,A1B2C3,4E" } }
        try await manager.tell("Switch", "i", "3")
        try await watched.waitForSources("its end") { $0["modem"]?.isAvailable == false }
        try await manager.tell("SetCell", "s", "262,02,1F,A1B2C4,4E")
        try await manager.tell("Switch", "i", "8")
        try await watched.wait(for: "the other cell") { $0.contains { $0.cell == "262,02,1F,A1B2C4,4E" } }
    }

    @Test func `R6: A check finds a source that starts while no app wants a location`() async throws {
        let bus = try PrivateBus()
        let watched = try WatchedSources(bus: bus.address)
        #expect(await watched.sources.look()?.sources?.regions == false)
        try await bus.start()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        try await geoClue.tell("SetPlace", "ddd", Self.berlin[0], Self.berlin[1], "50")
        // On a busy machine a check may end before all sources have answered.
        try await eventually("the new source", within: .seconds(60)) {
            await watched.sources.look()?.sources?.regions == true
        }
        // A check creates a client to learn whether GeoClue answers, but never starts the client.
        #expect(try await geoClue.calls().contains("CreateClient") && watched.fixes.isEmpty)
        watched.sources.shutdown()
        #expect(await watched.sources.look() == nil)
    }

    @Test func `R6: A refusal by GeoClue is reported, and GeoClue is not asked again`() async throws {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        try await geoClue.tell("Refuse", "s", "'nightshift' disallowed by its user")
        let watched = try WatchedSources(bus: bus.address)
        for request in 1...3 {
            watched.sources.want(FixDemand(fix: 50))
            try await watched.waitForEnd(of: request)
        }
        try await watched.waitForSources("the refusal") {
            $0["geoclue"]?.isAvailable == false && $0["geoclue"]?.sentence.contains("geoclue.conf") == true
        }
        #expect(watched.fixes.isEmpty && watched.receiver == [0, 0, 0])
        #expect(try await geoClue.tell("Clients").contains("1 made, 0 there"))
    }

    @Test func `R7: While it watches changes, the provider reconnects to a bus and to services that return`()
        async throws
    {
        let bus = try PrivateBus()
        let watched = try WatchedSources(bus: bus.address)
        watched.sources.want(FixDemand(watchesChanges: true))
        try await watched.waitForSources("no bus") {
            $0["geoclue"]?.sentence.contains("system bus cannot be used") == true
        }
        for _ in 1...2 {
            try await bus.start()
            let before = watched.fixes.count
            let geoClue = try await MockLocationService(.geoClue, on: bus)
            try await geoClue.tell("SetPlace", "ddd", Self.berlin[0], Self.berlin[1], "900")
            try await watched.wait(for: "a place") { $0.compactMap(\.fix).count > before }
            geoClue.stop()
            try await watched.waitForSources("GeoClue's end") {
                $0["geoclue"]?.sentence.contains("apt install") == true
            }
            let other = try await MockLocationService(.geoClue, on: bus)
            try await eventually("another client") { try await other.tell("Clients").contains(" 1 there") }
            bus.stop()
            try await watched.waitForSources("the end of the bus") {
                $0["geoclue"]?.sentence.contains("system bus cannot be used") == true
            }
        }
    }

    /// GeoClue of Debian 12 never answers if no agent of a desktop is running.
    @Test func `R6: The provider reports that GeoClue does not answer, and uses GeoClue once it answers`() async throws
    {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        let watched = try WatchedSources(bus: bus.address)
        try await watched.waitForSources("GeoClue") { $0["geoclue"]?.isAvailable == true }
        geoClue.freeze(true)
        let silent = try #require(await watched.sources.look()?.sources?.statuses.first { $0.name == "geoclue" })
        #expect(!silent.isAvailable && silent.isSilent == true && silent.sentence.contains("geoclue-2-demo"))
        geoClue.freeze(false)
        let back = try #require(await watched.sources.look()?.sources?.statuses.first { $0.name == "geoclue" })
        #expect(back.isAvailable && back.isSilent == nil)
    }

    @Test func `R6: If GeoClue does not answer, the service asks the receiver`() async throws {
        let bus = try await PrivateBus.started()
        let geoClue = try await MockLocationService(.geoClue, on: bus)
        geoClue.freeze(true)
        let receiver = try FakeReceiver(walk: [(latitude: 52.5, longitude: 13.4)])
        try await receiver.start()
        let watched = try WatchedSources(bus: bus.address, gpsd: receiver.port)
        watched.sources.want(FixDemand(fix: 500))
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.first?.source == "gpsd")
        try await watched.waitForSources("its silence") { $0["geoclue"]?.isSilent == true }
    }

    @Test func `R6: A bus that does not answer blocks no caller`() async throws {
        let bus = try await PrivateBus.started()
        bus.freeze(true)
        let receiver = try FakeReceiver(walk: [(latitude: 52.5, longitude: 13.4)])
        try await receiver.start()
        let watched = try WatchedSources(bus: bus.address, gpsd: receiver.port)
        watched.sources.want(FixDemand(fix: 30, watchesChanges: true))
        try await watched.waitForEnd(of: 1)
        #expect(watched.fixes.first?.source == "gpsd")
        watched.sources.shutdown()
        try await watched.hasEnded.wait(for: "the end of the updates") { $0 }
        bus.freeze(false)
    }
}
