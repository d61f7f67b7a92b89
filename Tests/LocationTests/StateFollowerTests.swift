import Foundation
import Location
import NightshiftAPI
import TestSupport
import Testing

/// Tests of running apps that request the location while regions are monitored. They share one receiver and its costs
/// (R6).
@Suite struct StateFollowerTests {
    private typealias Scene = LocationScene

    private static func allowed(_ permission: LocationPermission = .whenInUse) -> Scene {
        var scene = Scene()
        for app in [Scene.app, Scene.other] { scene.install(app, permission) }
        scene.tellSources()
        return scene
    }

    private static func follow(
        _ scene: inout Scene, _ number: Int = 1, _ accuracy: Double = 10, isOnce: Bool = false, app: AppID = Scene.app,
        asksUser: Bool = false
    ) {
        scene.step { book, now in
            try? book.follow(
                number, LocationUpdateRequest(accuracy: accuracy, isOnce: isOnce), for: app, asksUser: asksUser,
                now: now)
        }
    }

    @Test func `R6: A request for one location turns the receiver on once`() throws {
        var scene = Self.allowed()
        Self.follow(&scene, isOnce: true)
        #expect(scene.wish.fix == 10 && scene.wish.timeout < FixDemand.usualTimeout)
        scene.pass(60)
        let answers = scene.book.takeDeliveries()
        #expect(answers.count == 1 && answers.first?.isLast == true)
        #expect(answers.first?.update.place?.accuracy == scene.accuracy)
        #expect(scene.asked.count == 1 && scene.wish == FixDemand() && scene.book.nextDeadline == nil)
        #expect(scene.status()?.receiverSeconds == scene.delay && scene.status()?.updates == nil)
        // The service does not wake the app.
        #expect(scene.told.isEmpty)
    }

    @Test func `R6: Simultaneous requests share one source request and its cost`() throws {
        var scene = Self.allowed()
        Self.follow(&scene, 1, 100, isOnce: true)
        Self.follow(&scene, 2, 500, isOnce: true, app: Scene.other)
        scene.pass(30)
        #expect(scene.asked.count == 1 && scene.book.takeDeliveries().map(\.number) == [1, 2])
        for app in [Scene.app, Scene.other] { #expect(scene.status(app)?.receiverSeconds == scene.delay / 2) }
    }

    @Test func `R6: The receiver is on while an app with updates runs, and off afterwards`() throws {
        var scene = Self.allowed()
        Self.follow(&scene)
        scene.pass(60)
        let asked = scene.asked.count
        // The last source request may still be running.
        #expect((asked - 1...asked).contains(scene.book.takeDeliveries().count) && asked > 8)
        let status = try #require(scene.status())
        #expect(status.updates?.isOn == true && status.updates?.accuracy == 10)
        #expect(status.sentence.contains("requests the location with an accuracy of 10 m, and keeps the receiver on"))
        // The app is suspended during a source request.
        scene.step { $0.suspend(Scene.app, isSuspended: true, now: $1) }
        #expect(scene.wish == FixDemand() && scene.book.nextDeadline == nil)
        scene.pass(3_600)
        #expect(scene.asked.count <= asked + 1 && scene.book.takeDeliveries() == [])
        #expect(scene.status()?.updates?.isOn == false && scene.status()?.sentence.contains("is suspended") == true)
        scene.step { $0.suspend(Scene.app, isSuspended: false, now: $1) }
        scene.pass(10)
        #expect(scene.book.takeDeliveries().count > 0)
        scene.step { book, _ in book.unfollow(1) }
        #expect(scene.wish == FixDemand() && scene.book.nextDeadline == nil && scene.status()?.updates == nil)
    }

    @Test func `R6: An app in the foreground makes a region's source request finer and quicker`() {
        var scene = Self.allowed(.always)
        scene.hasReceiver = false
        scene.delay = 50
        scene.move(80_000)
        scene.add(Scene.region(radius: 5_000))
        #expect(scene.wish.timeout == FixDemand.usualTimeout)
        Self.follow(&scene, isOnce: true, app: Scene.other)
        #expect(scene.wish.fix == 10 && scene.wish.timeout < FixDemand.usualTimeout && scene.asked.count == 2)
    }

    @Test func `R6: Without a receiver an app's request fails once, and the service repeats it`() {
        var scene = Self.allowed(.always)
        scene.hasReceiver = false
        Self.follow(&scene)
        scene.pass(600)
        let failures = scene.book.takeDeliveries()
        #expect(failures.map(\.update) == [LocationUpdate(failure: .unknown)])
        #expect((8...20).contains(scene.asked.count))
        scene.step { book, _ in book.unfollow(1) }
        let asked = scene.asked.count
        scene.add()
        #expect(scene.asked.count == asked + 1)
    }

    @Test func `R6: A source request that ends at once is repeated once before it fails`() {
        var scene = Self.allowed()
        Self.follow(&scene, isOnce: true)
        scene.step { $0.take(.receiver(seconds: 2), now: $1) }
        #expect(scene.book.takeDeliveries() == [] && scene.asked.count == 2)
        scene.step { $0.take(.receiver(seconds: 0), now: $1) }
        #expect(scene.book.takeDeliveries().map(\.update) == [LocationUpdate(failure: .unknown)])
    }

    @Test func `R6: A refused continuous request continues when its app gets permission`() throws {
        var scene = Self.allowed(.denied)
        Self.follow(&scene, 1)
        Self.follow(&scene, 2, isOnce: true)
        #expect(scene.book.takeDeliveries().map(\.update.failure) == [.denied, .denied])
        #expect(scene.asked.isEmpty)
        scene.permit(.whenInUse)
        scene.pass(10)
        #expect(scene.book.takeDeliveries().allSatisfy { $0.number == 1 && $0.update.place != nil })
        scene.permit(.denied)
        #expect(scene.book.takeDeliveries().map(\.update.failure) == [.denied] && scene.wish == FixDemand())
    }

    @Test func `R6: The first request of an app in the foreground asks a user who has not decided`() throws {
        var scene = Self.allowed(.ask)
        Self.follow(&scene, 1, isOnce: true)
        #expect(scene.book.takeDeliveries().map(\.update.failure) == [.denied])
        Self.follow(&scene, 2, isOnce: true, asksUser: true)
        Self.follow(&scene, 3, asksUser: true)
        let asks = scene.effects.filter { if case .ask(_, _, _, .whenInUse) = $0 { true } else { false } }
        #expect(asks.count == 1 && scene.book.takeDeliveries() == [] && scene.asked.isEmpty)
        scene.step { $0.asked(Scene.app, nil, now: $1) }
        // The request for one location fails now, while the request for many waits.
        #expect(scene.book.takeDeliveries().map(\.number) == [2])
        Self.follow(&scene, 4, isOnce: true, asksUser: true)
        scene.step { $0.asked(Scene.app, .whenInUse, now: $1) }
        scene.pass(5)
        #expect(Set(scene.book.takeDeliveries().filter { $0.update.place != nil }.map(\.number)) == [3, 4])
    }

    @Test func `R6: A recent location answers a request at once, but an old location does not`() {
        var scene = Self.allowed()
        scene.tell()
        Self.follow(&scene, 1, isOnce: true)
        #expect(scene.book.takeDeliveries().count == 1 && scene.asked.isEmpty)
        scene.pass(30)
        Self.follow(&scene, 2, isOnce: true)
        #expect(scene.book.takeDeliveries() == [] && scene.asked.count == 1)
    }

    @Test func `R6: An app has a limited number of requests, and no requests without an entry`() {
        var scene = Self.allowed()
        for number in 1...Limits.locationUpdates { Self.follow(&scene, number) }
        let (request, now) = (LocationUpdateRequest(accuracy: 10), scene.now)
        #expect(throws: Problem.self) { try scene.book.follow(0, request, for: Scene.app, asksUser: false, now: now) }
        let stranger = AppID(rawValue: "org.example.None")
        #expect(throws: Problem.self) { try scene.book.follow(0, request, for: stranger, asksUser: false, now: now) }
        // The entry has been removed for good.
        scene.step { $0.installed(Scene.app, nil, now: $1) }
        scene.pass(60)
        #expect(scene.wish == FixDemand())
    }

    @Test func `R6: A request writes only the app's own row`() throws {
        var scene = Self.allowed()
        let before = scene.rows.writes
        Self.follow(&scene)
        scene.pass(300)
        #expect(scene.rows.writes == before && scene.rows.journal.filter { $0.decision == .locationChanged }.isEmpty)
        try scene.restart()
        #expect(scene.wish == FixDemand() && scene.status()?.updates == nil)
    }
}
