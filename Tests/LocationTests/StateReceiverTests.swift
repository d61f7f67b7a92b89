import Foundation
import Location
import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// Tests of the use of the receiver, of the apps that are charged for it, and of notices of significant changes (R6,
/// R7).
@Suite struct StateReceiverTests {
    private typealias Scene = LocationScene

    private static func dozing(_ phase: DozePhase) -> DeviceState { DeviceState(phase: phase) }

    /// Returns an app with permission, on a device with all sources.
    private static func allowed() -> Scene {
        var scene = Scene()
        scene.install()
        scene.tellSources()
        return scene
    }

    // MARK: - The receiver

    @Test func `R6: Without regions the service has neither a source request nor a deadline`() {
        var scene = Scene()
        scene.install()
        scene.pass(86_400)
        #expect(scene.asked.isEmpty && scene.book.nextDeadline == nil && scene.wish == FixDemand())
        scene.add()
        #expect(scene.wish.fix == 10)
        // The source has not answered yet when the request is withdrawn.
        scene.step { _ = try? $0.removeRegion("home", of: Scene.app, now: $1) }
        #expect(scene.wish == FixDemand() && scene.book.nextDeadline == nil)
    }

    @Test func `R6: The receiver is on for seconds an hour while every boundary is far away`() throws {
        var scene = Scene()
        scene.install()
        scene.add()
        scene.move(80_000)
        scene.pass(3_600)
        let seconds = try #require(scene.status()).receiverSeconds
        #expect((4...80).contains(seconds))
        #expect(scene.asked.dropFirst(2).allSatisfy { $0.accuracy == 1_000 })
        #expect(scene.book.status(scene.now).nextFix.map { $0.timeIntervalSince1970 > scene.now.seconds } == true)
    }

    @Test func `R6: The service asks a receiver of 17 m for its best accuracy near a boundary`() throws {
        var scene = Self.allowed()
        scene.accuracy = 17
        scene.add(Scene.region(radius: 150))
        scene.move(160)
        scene.pass(1_200)
        #expect(scene.asked.count > 3 && scene.asked.dropFirst(2).allSatisfy { $0.accuracy > 17 && $0.accuracy < 34 })
        #expect(try #require(scene.status()).sentence.contains("too small") == false)
    }

    @Test func `R6: The status names a region that is far too small for the receiver`() throws {
        var scene = Self.allowed()
        scene.accuracy = 60
        scene.add(Scene.region("door", radius: 20))
        scene.move(0)
        scene.pass(600)
        let sentence = try #require(scene.status()).sentence
        #expect(sentence.contains("The region 'door' is too small for events: the location is accurate to 60 m."))
        #expect(scene.words == [])
    }

    @Test func `R6: A region smaller than the receiver's accuracy still causes region events`() {
        var scene = Self.allowed()
        scene.accuracy = 60
        scene.add(Scene.region("shop", radius: 50))
        scene.move(1_000)
        scene.pass(600)
        scene.move(0)
        scene.pass(1_200)
        scene.move(1_000)
        scene.pass(1_800)
        #expect(scene.words == ["entered shop", "left shop"])
    }

    @Test func `R6: Apps that want the same fix share its cost, today and in total`() throws {
        var scene = Scene()
        for app in [Scene.app, Scene.other] {
            scene.install(app)
            scene.add(for: app)
        }
        scene.pass(10)
        // The first fix was requested before the second app existed; both waited for the second fix.
        let (first, second) = (try #require(scene.status()), try #require(scene.status(Scene.other)))
        #expect(first.receiverSeconds + second.receiverSeconds == Double(scene.asked.count) * scene.delay)
        scene.step { _ = try? $0.removeRegion("home", of: Scene.other, now: $1) }
        let asked = scene.asked.count
        scene.pass(3_600)
        let ended = scene.asked.dropFirst(asked).count { $0.at + scene.delay <= scene.boot }
        #expect(scene.status(Scene.other)?.receiverSeconds == second.receiverSeconds)
        #expect(scene.status()?.receiverSeconds == first.receiverSeconds + Double(ended) * scene.delay)
        scene.pass(2 * 86_400)
        let status = try #require(scene.status())
        #expect(status.receiverSecondsToday > 0 && status.receiverSecondsToday < status.receiverSeconds)
        #expect(scene.status(Scene.other)?.receiverSecondsToday == 0)
    }

    @Test func `R6: One fix for two apps is charged half to each`() throws {
        var scene = Scene()
        for app in [Scene.app, Scene.other] { scene.install(app, .denied) }
        for app in [Scene.app, Scene.other] { scene.add(for: app) }
        scene.step { book, now in
            for app in [Scene.app, Scene.other] {
                try? book.change(app, AppLocationChange(permission: .always), now: now)
            }
        }
        scene.pass(10)
        #expect(scene.asked.count == 1)
        for app in [Scene.app, Scene.other] { #expect(scene.status(app)?.receiverSeconds == 2) }
    }

    @Test func `R6: The service writes changes of receiver time alone only every ten minutes`() {
        var scene = Scene()
        scene.install()
        scene.add()
        scene.pass(600)
        let (writes, asked) = (scene.rows.writes, scene.asked.count)
        scene.pass(3_600)
        #expect(scene.asked.count - asked > 10)
        #expect((3...7).contains(scene.rows.writes - writes))
    }

    @Test func `R6: Pauses grow while a source does not answer, and a new source is asked at once`() {
        var scene = Scene()
        scene.hasReceiver = false
        scene.install()
        scene.add()
        scene.pass(4_000)
        let times = scene.asked.map(\.at)
        #expect(zip(times.dropFirst(), times).map { $0 - $1 } == [64, 124, 244, 484, 904, 904, 904])
        scene.hasReceiver = true
        scene.tellSources()
        #expect(scene.asked.last?.at == scene.boot)
        scene.pass(10)
        #expect(scene.state() == .outside)
    }

    @Test func `R6: The late end of a cancelled request does not delay the next request`() {
        var scene = Scene()
        scene.tellSources()
        scene.install()
        scene.add()
        scene.step { _ = try? $0.removeRegion("home", of: Scene.app, now: $1) }
        scene.add()
        #expect(scene.asked.count == 2)
        // The sources report the end of the first request a little later.
        scene.step { $0.take(.receiver(seconds: 0.5), now: $1) }
        #expect(scene.wish.fix == nil)
        scene.pass(10)
        #expect(scene.state() == .outside && scene.status()?.receiverSeconds == 0.5 + scene.delay)
        // The service does not repeat a request for ever that always ends at once.
        scene.hasReceiver = false
        scene.delay = 0.1
        let asked = scene.asked.count
        scene.pass(3_600)
        #expect((3...9).contains(scene.asked.count - asked))
    }

    @Test func `R6: The service gives up on a source that reports nothing for three minutes`() {
        var scene = Scene()
        scene.delay = .infinity
        scene.install()
        scene.add()
        scene.pass(1_000)
        #expect(scene.asked.map { $0.at - 1_000 } == [0, 240, 540, 960])
    }

    @Test func `R6 R7: In doze the receiver serves regions, and significant changes only in windows`() {
        var scene = Self.allowed()
        scene.step { book, _ in book.apply(Self.dozing(.dozing)) }
        scene.watchChanges()
        scene.pass(3_600)
        #expect(scene.asked.isEmpty && scene.wish == FixDemand(watchesChanges: true))
        scene.step { book, _ in book.apply(Self.dozing(.window)) }
        scene.pass(10)
        #expect(scene.asked.map(\.accuracy) == [SignificantChange.distance] && scene.words == ["changed "])
        scene.step { book, _ in book.apply(Self.dozing(.dozing)) }
        scene.add()
        scene.pass(3_600)
        #expect(scene.asked.count > 5 && scene.state() == .outside)
    }

    // MARK: - Significant changes

    @Test func `R7: The first significant change is reported with the last known location`() throws {
        var scene = Scene()
        scene.install()
        scene.add()
        scene.pass(10)
        scene.watchChanges()
        #expect(scene.words == ["changed "])
        let wake = try #require(scene.rows.wakes.last)
        #expect(wake.source == .significantChange && wake.key == "" && wake.event.region == nil)
        #expect(wake.event.place != nil)
        let first = scene.boot
        // A network source reports on its own.
        scene.pass(100)
        scene.move(1_700)
        scene.tell(accuracy: 50)
        #expect(scene.words.count == 1)
        scene.pass(400)
        #expect(scene.words.count == 2)
        let passed = scene.told[1].at - first
        #expect(passed >= SignificantChange.pause - 10 && passed <= SignificantChange.pause)
        // A second start has no effect, but a start after a stop does.
        scene.watchChanges()
        #expect(scene.words.count == 2)
        scene.watchChanges(false)
        #expect(scene.rows.wakes.isEmpty && scene.status()?.monitorsSignificantChanges == false)
        scene.watchChanges()
        #expect(scene.words.count == 3)
    }

    @Test func `R7: The service requests the location of a new cell at most once in five minutes`() throws {
        var scene = Self.allowed()
        scene.watchChanges()
        scene.pass(10)
        #expect(scene.words == ["changed "] && scene.wish.watchesChanges)
        scene.tell(cell: "262,02,1,7")
        scene.pass(400)
        #expect(scene.words.count == 1)
        let asked = scene.asked.count
        for number in 0..<10 {
            scene.tell(cell: "262,02,1,\(8 + number % 2)")
            scene.pass(20)
        }
        scene.pass(600)
        let count = scene.words.count
        #expect((2...3).contains(count) && scene.told.allSatisfy { $0.wake.event.place != nil })
        let times = scene.told.map(\.at)
        #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 > SignificantChange.pause - 10 })
        #expect((1...3).contains(scene.asked.count - asked))
        // The same cell again does not count as a change.
        scene.tell(cell: "262,02,1,9")
        scene.pass(1_000)
        #expect(scene.words.count == count)
        #expect(scene.rows.journal.allSatisfy { $0.detail?.contains("262") != true })
    }

    @Test func `R7: The service sends a change of cell without a location if it has only a modem`() {
        var scene = Self.allowed()
        scene.tellSources(regions: false)
        scene.watchChanges()
        scene.tell(cell: "262,02,1,7")
        scene.pass(2_000)
        #expect(scene.words == [] && scene.asked.isEmpty)
        scene.tell(cell: "262,02,1,8")
        #expect(scene.words == ["changed "] && scene.told[0].wake.event.place == nil)
    }

    @Test func `R7: The service sends a change of cell without a location if it gets no fix`() {
        var scene = Self.allowed()
        scene.hasReceiver = false
        scene.watchChanges()
        scene.tell(cell: "262,02,1,7")
        scene.pass(2_000)
        #expect(scene.words == [] && !scene.asked.isEmpty)
        scene.tell(cell: "262,02,1,8")
        scene.pass(2_000)
        #expect(scene.words == ["changed "] && scene.told[0].wake.event.place == nil)
    }

    @Test func `R7: The service does not turn on a satellite receiver for significant changes alone`() {
        var scene = Self.allowed()
        scene.tellSources(changes: false)
        scene.watchChanges()
        scene.pass(86_400)
        #expect(scene.asked.isEmpty && scene.wish == FixDemand(watchesChanges: true) && scene.words == [])
    }

    @Test func `R7: An app gets its first significant change only after it gets permission`() {
        var scene = Self.allowed()
        scene.install(Scene.other, .denied)
        for app in [Scene.app, Scene.other] { scene.watchChanges(true, app) }
        scene.tell(accuracy: 50)
        scene.pass(10)
        scene.move(9_000)
        scene.pass(400)
        scene.tell(accuracy: 50)
        #expect(scene.told.map(\.wake.app) == [Scene.app, Scene.app])
        scene.permit(.always, Scene.other)
        #expect(scene.told.last?.wake.app == Scene.other && scene.told.count == 3)
        scene.permit(.denied, Scene.other)
        #expect(scene.rows.wakes.map(\.app) == [Scene.app])
    }

    @Test func `R7: A reboot alone causes no significant change`() throws {
        var scene = Self.allowed()
        scene.watchChanges()
        scene.pass(10)
        try scene.restart(off: 3_600)
        scene.tellSources()
        scene.pass(400)
        #expect(scene.words == ["changed "])
        scene.move(20_000)
        try scene.restart(off: 3_600)
        scene.tellSources()
        scene.pass(400)
        #expect(scene.words == ["changed ", "changed "])
    }

    // MARK: - Reports of sources

    @Test func `R6: Old, future and repeated fixes have no effect`() throws {
        var scene = Scene()
        scene.install()
        scene.add()
        scene.pass(10)
        func fix(_ east: Double, at time: Double) throws -> FixUpdate {
            .fix(try #require(Fix(place: Scene.place(east), accuracy: 5, time: time)), source: "gpsd")
        }
        // A source that was asleep can send old fixes.
        for age in [500.0, 300, 200] {
            let old = try fix(0, at: scene.boot - age)
            scene.step { $0.take(old, now: $1) }
        }
        #expect(scene.state() == .outside && scene.words == [])
        // A fix with a time years ahead counts as a current one.
        scene.hasReceiver = false
        let future = try fix(0, at: scene.boot + 1e8)
        for _ in 0..<3 {
            scene.pass(30)
            scene.step { $0.take(future, now: $1) }
        }
        #expect(scene.words == ["entered home"])
        scene.step { $0.take(.receiver(seconds: -5), now: $1) }
        scene.step { $0.take(.receiver(seconds: .nan), now: $1) }
        #expect(scene.status().map { $0.receiverSeconds.isFinite && $0.receiverSeconds >= 0 } == true)
    }
}
