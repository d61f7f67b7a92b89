import Foundation
import Location
import NightshiftAPI
import TestSupport
import Testing

/// Tests of regions, from the location to the row that wakes an app (R6).
@Suite struct StateRegionTests {
    private typealias Scene = LocationScene

    /// Returns an app with a region around the origin, and a device outside of it.
    private static func outside(_ permission: LocationPermission = .always) -> Scene {
        var scene = Scene()
        scene.install(Scene.app, permission)
        scene.add()
        scene.pass(10)
        return scene
    }

    private static func refusal(_ region: MonitoredRegion, _ scene: inout Scene) -> Problem? {
        do throws(Problem) {
            let now = scene.now
            try scene.book.addRegion(region, for: Scene.app, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test func `R6: An entry into a region and an exit each cause one event with the location`() throws {
        var scene = Self.outside()
        #expect(scene.state() == .outside && scene.words == [])
        scene.move(0)
        scene.pass(900)
        #expect(scene.words == ["entered home"] && scene.state() == .inside)
        scene.move(800)
        scene.pass(900)
        #expect(scene.words == ["entered home", "left home"])
        let wake = try #require(scene.rows.wakes.last)
        // The later event has replaced the earlier one.
        #expect(scene.rows.wakes.count == 1 && wake.source == .region && wake.key == "home" && wake.timeout == nil)
        #expect(wake.event.kind == .left && wake.event.region == Scene.region())
        let place = try #require(wake.event.place)
        let there = try #require(Coordinate(latitude: place.latitude, longitude: place.longitude))
        #expect(there.distance(to: Scene.place(800)) < 1 && place.accuracy == 5)
        let told = try #require(scene.told.last)
        #expect(abs(wake.event.time.timeIntervalSince1970 - scene.wallOffset - told.at) < 0.001)
        #expect(abs(place.time.timeIntervalSince(wake.event.time)) < 0.001)
        let status = try #require(scene.status())
        #expect(status.wakes == 2 && status.regions.map(\.crossings) == [2])
        #expect(status.regions[0].lastCrossing == wake.event.time)
    }

    @Test func `R6: The journal contains identifiers but no locations`() throws {
        var scene = Self.outside()
        scene.watchChanges()
        for east in [0.0, 800] {
            scene.move(east)
            scene.pass(900)
        }
        scene.step { _ = try? $0.removeRegion("home", of: Scene.app, now: $1) }
        let words = scene.rows.journal.map { "\($0.decision) \($0.detail ?? "-")" }
        #expect(
            Set(words) == [
                "locationPermission always", "regionAdded home", "regionEntered home", "regionLeft home",
                "regionRemoved home", "locationChanged -",
            ])
        #expect(scene.rows.journal.allSatisfy { $0.app == Scene.app && $0.inputs == nil })
    }

    @Test(arguments: [LocationPermission.ask, .denied, .whenInUse])
    func `R6: The service monitors no region without permission, whatever a source reports`(
        permission: LocationPermission
    ) throws {
        var scene = Scene()
        scene.install(Scene.app, permission)
        scene.add()
        scene.watchChanges()
        for east in [1_000.0, 0, 1_000] {
            scene.move(east)
            for _ in 0..<3 {
                scene.pass(40)
                scene.tell()
            }
        }
        #expect(scene.asked.isEmpty && scene.wish == FixDemand() && scene.told.isEmpty)
        #expect(scene.state() == .unknown && scene.book.nextDeadline == nil)
        let process = try scene.book.processLocation(of: Scene.app, scene.now)
        #expect(process.place == nil && process.regions.map(\.state) == [.unknown])
        // The service keeps the region and monitors it once permission is granted.
        scene.permit(.always)
        scene.pass(10)
        #expect(scene.state() == .outside)
        #expect(try scene.book.processLocation(of: Scene.app, scene.now).place != nil)
    }

    @Test func `R6: An app with when-in-use permission gets events only in the foreground`() throws {
        var scene = Scene()
        scene.install(Scene.app, .whenInUse)
        scene.add()
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        scene.pass(10)
        scene.move(0)
        scene.pass(900)
        #expect(scene.words == ["entered home"])
        #expect(scene.told[0].wake.timeout == 30)
        scene.step { $0.use(Scene.app, isInFront: false, now: $1) }
        #expect(scene.rows.wakes.isEmpty && scene.effects.contains(.wakesChanged(Scene.app)))
        let asked = scene.asked.count
        scene.move(800)
        scene.pass(3_600)
        #expect(scene.asked.count == asked && scene.words.count == 1 && scene.wish == FixDemand())
        // A boundary crossed in the meantime causes an event when monitoring continues.
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        scene.pass(120)
        #expect(scene.words == ["entered home", "left home"])
    }

    @Test func `R6: The receiver stays off after a force quit until the user starts the app`() {
        var scene = Self.outside()
        scene.step { $0.forceQuit(Scene.app, now: $1) }
        let asked = scene.asked.count
        scene.move(0)
        scene.pass(3_600)
        #expect(scene.asked.count == asked && scene.words == [] && scene.book.nextDeadline == nil)
        scene.step { $0.launched(Scene.app, now: $1) }
        scene.pass(120)
        #expect(scene.words == ["entered home"])
    }

    @Test func `R6: A withdrawn permission ends monitoring, cancels events and notifies the app`() {
        var scene = Self.outside()
        scene.move(0)
        scene.pass(900)
        #expect(scene.rows.wakes.count == 1)
        scene.permit(.denied)
        #expect(scene.rows.wakes.isEmpty && scene.state() == .unknown && scene.wish == FixDemand())
        #expect(scene.effects.suffix(2) == [.permission(Scene.app), .wakesChanged(Scene.app)])
        #expect(scene.book.notice(for: Scene.app) == LocationNotice(permission: .denied))
        scene.move(800)
        scene.pass(3_600)
        // A boundary crossed without permission causes no event afterwards.
        scene.permit(.always)
        scene.pass(300)
        #expect(scene.words == ["entered home"] && scene.state() == .outside)
    }

    @Test func `R6: A region with the same identifier replaces the old region and its events`() throws {
        var scene = Self.outside()
        scene.move(0)
        scene.pass(900)
        #expect(scene.rows.wakes.count == 1)
        let (writes, entries) = (scene.rows.writes, scene.rows.journal.count)
        scene.add()
        #expect(scene.rows.writes == writes && scene.rows.journal.count == entries && scene.rows.wakes.count == 1)
        scene.add(Scene.region(east: 5_000))
        #expect(scene.rows.wakes.isEmpty)
        scene.pass(300)
        let status = try #require(scene.status())
        #expect(status.regions.map(\.region.center) == [Scene.place(5_000)] && status.regions[0].crossings == 0)
        #expect(scene.state() == .outside && scene.words.count == 1)
    }

    @Test func `R6: An app may have twenty regions, and the service refuses the next one`() {
        var scene = Scene()
        scene.install()
        for number in 0..<Limits.regions { scene.add(Scene.region("\(number)")) }
        #expect(Self.refusal(Scene.region("more"), &scene)?.type == "/problems/too-many-regions")
        #expect(Self.refusal(Scene.region("more"), &scene)?.status == 409)
        // An existing region may be replaced, and another app has its own limit.
        #expect(Self.refusal(Scene.region("7", east: 3), &scene) == nil)
        scene.install(Scene.other)
        scene.add(Scene.region("more"), for: Scene.other)
        #expect(scene.status(Scene.other)?.regions.count == 1)
        scene.step { _ = try? $0.removeRegion("3", of: Scene.app, now: $1) }
        #expect(Self.refusal(Scene.region("more"), &scene) == nil)
    }

    @Test(arguments: [
        ("", 100.0, "/identifier"), (String(repeating: "é", count: 129), 100, "/identifier"),
        ("home", -1, "/radius"), ("home", .nan, "/radius"), ("home", .infinity, "/radius"),
        ("home", MonitoredRegion.largestRadius + 1, "/radius"),
    ])
    func `R6: The service refuses an invalid region`(identifier: String, radius: Double, pointer: String) {
        var scene = Scene()
        scene.install()
        let refusal = Self.refusal(Scene.region(identifier, radius: radius), &scene)
        #expect(refusal?.status == 422 && refusal?.pointer == pointer)
        for radius in [0, MonitoredRegion.largestRadius] {
            #expect(Self.refusal(Scene.region(String(repeating: "a", count: 256), radius: radius), &scene) == nil)
        }
    }

    @Test func `R6: A region that is added at an old location has no state before a new fix`() {
        var scene = Self.outside()
        scene.step { _ = try? $0.removeRegion("home", of: Scene.app, now: $1) }
        scene.pass(3_600)
        // Without a fix, the device has since moved into the new region and away from the old location.
        scene.move(9_000)
        scene.add(Scene.region(east: 1_000))
        scene.pass(400)
        #expect(scene.words == [] && scene.state() == .outside)
    }

    // MARK: - Restarts

    @Test(arguments: [nil, 7_200.0])
    func `R6: A boundary that is crossed while no service runs causes one event`(off: Double?)
        throws
    {
        var scene = Self.outside()
        scene.move(0)
        scene.pass(900)
        try scene.restart(off: off)
        scene.pass(1_200)
        #expect(scene.words == ["entered home"] && scene.state() == .inside)
        scene.move(800)
        try scene.restart(off: off)
        scene.pass(1_200)
        #expect(scene.words == ["entered home", "left home"])
        try scene.restart(off: off)
        scene.pass(1_200)
        #expect(scene.words.count == 2 && scene.status()?.regions[0].crossings == 2)
    }

    @Test func `R6: The service sends a region event once, as soon as the store accepts the event`() {
        var scene = Self.outside()
        scene.isFull = true
        scene.move(0)
        scene.pass(900)
        #expect(scene.words == [])
        scene.isFull = false
        scene.pass(120)
        #expect(scene.words == ["entered home"] && scene.status()?.wakes == 1)
    }

    @Test func `R6: The next service detects a region event that the last service could not write`() throws {
        var scene = Self.outside()
        scene.isFull = true
        scene.move(0)
        scene.pass(900)
        scene.isFull = false
        try scene.restart()
        #expect(scene.words == [])
        scene.pass(120)
        #expect(scene.words == ["entered home"] && scene.status()?.wakes == 1)
        #expect(scene.entries(.regionEntered).count == 1)
    }

    @Test func `R6: An app without its desktop entry is not monitored, and loses its state after a month`() throws {
        var scene = Self.outside()
        let asked = scene.asked.count
        try scene.restart(manifests: [])
        scene.pass(3_600)
        #expect(scene.status() == nil && scene.asked.count == asked && scene.rows.known == [Scene.app])
        // The entry has returned, and permission and region still exist.
        try scene.restart(manifests: [Scene.manifest()])
        scene.pass(10)
        #expect(scene.status()?.permission == .always && scene.state() == .outside)
        try scene.restart(manifests: [])
        // Neither a wrong wall clock nor time during which the machine was off ends anything.
        scene.wallOffset += 40 * 86_400
        try scene.restart(off: 40 * 86_400, manifests: [])
        #expect(scene.rows.known == [Scene.app])
        for _ in 0..<31 { scene.pass(86_400) }
        try scene.restart(manifests: [])
        #expect(scene.rows.known.isEmpty)
    }

    @Test func `R6: Unreadable entries do not change the location state`() throws {
        var scene = Self.outside()
        try scene.restart(manifests: .some(nil))
        scene.pass(60)
        scene.step { $0.read([Scene.manifest()], now: $1) }
        scene.pass(10)
        #expect(scene.state() == .outside && scene.status()?.permission == .always)
    }

    @Test func `R6: The removal of an app deletes its location state and permission at once`() {
        var scene = Self.outside()
        scene.move(0)
        scene.pass(900)
        scene.step { $0.installed(Scene.app, nil, now: $1) }
        #expect(scene.rows.known.isEmpty && scene.rows.wakes.isEmpty && scene.book.nextDeadline == nil)
        scene.step { $0.installed(Scene.app, Scene.manifest(), now: $1) }
        #expect(scene.status()?.permission == .ask && scene.status()?.regions == [])
    }
}
