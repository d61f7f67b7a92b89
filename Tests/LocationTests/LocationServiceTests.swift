import Foundation
import Location
import NightshiftAPI
import Runtime
import Scheduler
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of the location service with a real store: writes, restarts and notices (R6, R7).
@Suite(.timeLimit(.minutes(20))) struct LocationServiceTests {
    private typealias Scene = ServiceScene

    @Test func `R6: The service requests no locations and sets no alarm without regions`() async throws {
        let scene = try Scene()
        try await scene.prepare()
        let run = Task { await scene.service.run() }
        await scene.service.apply(DeviceState())
        _ = try await scene.service.change(Scene.app, AppLocationChange(permission: .always))
        #expect(try await scene.service.status().nextFix == nil)
        #expect(scene.clock.sleepers == 0 && scene.source.wishes == [])
        await scene.service.stop()
        await run.value
        #expect(scene.source.isShutDown)
    }

    @Test func `R6: The alarm starts a source request, and a region event is stored with a payload`()
        async throws
    {
        let scene = try Scene()
        try await scene.prepare()
        let run = Task { await scene.service.run() }
        _ = try await scene.service.change(Scene.app, AppLocationChange(permission: .always))
        try await scene.service.addRegion(LocationScene.region(), for: Scene.app)
        var east = 1_000.0
        var answered = 0
        /// Answers the pending source request, and advances to the next one.
        func goOn() async throws {
            try await eventually("a question, or an alarm") {
                let (asked, waking) = (scene.source.wishes.filter { $0.fix != nil }.count, scene.clock.nextWaking)
                return asked > answered || waking != nil
            }
            let asked = scene.source.wishes.filter { $0.fix != nil }.count
            guard asked == answered else {
                answered = asked
                scene.clock.advance(to: scene.clock.now().bootSeconds + 4)
                scene.source.tell(try #require(scene.fix(east)))
                scene.source.tell(.receiver(seconds: 4))
                // The service has handled the answer when it no longer needs the receiver.
                return try await eventually("the end of the question") { scene.source.wishes.last?.fix == nil }
            }
            if let waking = scene.clock.nextWaking { scene.clock.advance(to: waking) }
        }
        func isOver() async throws -> Bool { try await !scene.wakes().isEmpty }
        for _ in 0..<3 { try await goOn() }
        east = 0
        for _ in 0..<40 where try await !isOver() { try await goOn() }
        let wake = try #require(try await scene.wakes().first)
        #expect(wake.source == .region && wake.key == "home" && wake.app == Scene.app && wake.expires == nil)
        let event = try JSON.decode(LocationEvent.self, from: try #require(wake.payload))
        #expect(event.kind == .entered && event.region == LocationScene.region() && event.place?.accuracy == 5)
        #expect(try await scene.journal(.regionEntered).map(\.detail) == ["home"])
        #expect(try await scene.service.status(of: Scene.app).receiverSeconds > 0)
        await scene.service.stop()
        await run.value
        #expect(scene.clock.sleepers == 0)
    }

    @Test func `R6: The next service continues stored location requests`() async throws {
        let scene = try Scene()
        try await scene.begin()
        try await scene.service.addRegion(LocationScene.region("work", east: 5_000, radius: 50), for: Scene.app)
        try await scene.service.setSignificantChanges(true, for: Scene.app)
        #expect(try await scene.service.processLocation(of: Scene.app).place != nil)
        try await scene.service.removeRegion("home", of: Scene.app)
        let missing = await #expect(throws: Problem.self) {
            try await scene.service.removeRegion("home", of: Scene.app)
        }
        #expect(missing?.status == 404)
        #expect(try await !scene.service.stopMonitoring("home", of: Scene.app))
        let before = try await scene.service.status(of: Scene.app)
        await scene.service.stop()

        let next = try Scene(after: scene)
        try await next.prepare()
        let kept = try await next.service.status(of: Scene.app)
        #expect(kept == before && kept.permission == .always && kept.monitorsSignificantChanges)
        #expect(kept.regions.map(\.region.identifier) == ["work"] && kept.regions.map(\.state) == [.outside])
        // The last location is not on disk.
        #expect(try await next.service.processLocation(of: Scene.app).place == nil)
        #expect(await next.service.notice(for: Scene.app) == LocationNotice(permission: .always))
        #expect(await next.service.notice(for: Scene.other) == nil)
        let problem = await #expect(throws: Problem.self) {
            try await next.service.status(of: AppID(rawValue: "org.example.Nobody"))
        }
        #expect(problem?.status == 404)
    }

    @Test func `R6: The service finds a manually installed entry at the next request for its app`() async throws {
        let scene = try Scene([])
        try await scene.prepare()
        await #expect(throws: Problem.self) { try await scene.service.status(of: Scene.app) }
        scene.entries.install([LocationScene.manifest()])
        try await scene.service.addRegion(LocationScene.region(), for: Scene.app)
        #expect(try await scene.service.status(of: Scene.app).regions.count == 1)
        await scene.service.receive(.installed(nil), of: Scene.app)
        scene.entries.install([])
        await #expect(throws: Problem.self) { try await scene.service.status(of: Scene.app) }
    }

    @Test func `R6: An older read of the entries does not replace a newer read`() async throws {
        let scene = try Scene([])
        try await scene.prepare()
        let (service, entries, manifest) = (scene.service, scene.entries, LocationScene.manifest())
        // The entry is installed while the service reads the entries.
        entries.duringNextReading {
            entries.install([manifest])
            await service.receive(.installed(manifest), of: manifest.id)
        }
        _ = try await service.status(of: manifest.id)
        #expect(try await service.status(of: manifest.id).app == manifest.id)
        // A user deletes the entry, which a later read has already noticed.
        entries.duringNextReading {
            entries.install([])
            _ = try? await service.status()
        }
        _ = try await service.status()
        await #expect(throws: Problem.self) { try await service.status(of: manifest.id) }
    }

    @Test func `R6: The service reports its location capabilities only after reading the sources`()
        async throws
    {
        let scene = try Scene()
        try await scene.service.prepare()
        let service = scene.service
        let process = Task { try await service.processLocation(of: Scene.app) }
        let status = Task { try await service.status() }
        let asked = Task { try await service.requestAuthorization(.always, for: Scene.app) }
        let source = LocationStatus.SourceStatus(name: "gpsd", isAvailable: true, sentence: "It is there.")
        // The three callers above would have got a response during these requests.
        for _ in 0..<100 { _ = try await service.change(Scene.app, AppLocationChange(permission: .always)) }
        await service.take(.sources([source], canMonitorRegions: true, canMonitorSignificantChanges: false))
        let answers = [try await process.value, try await asked.value]
        #expect(answers.map(\.canMonitorRegions) == [true, true])
        #expect(try await status.value.sources == [source])
    }

    @Test func `R6: A request for the capabilities checks the sources even without regions`()
        async throws
    {
        let scene = try Scene()
        try await scene.prepare()
        let source = LocationStatus.SourceStatus(name: "gpsd", isAvailable: true, sentence: "It is there.")
        scene.source.show(.sources([source], canMonitorRegions: true, canMonitorSignificantChanges: true))
        // The last check was only a moment ago.
        #expect(try await !scene.service.processLocation(of: Scene.app).canMonitorRegions)
        #expect(scene.source.looks == 0)
        scene.clock.advance(to: scene.clock.now().bootSeconds + 10)
        let process = try await scene.service.processLocation(of: Scene.app)
        #expect(process.canMonitorRegions && process.canMonitorSignificantChanges)
        #expect(try await scene.service.status().sources == [source])
        #expect(scene.source.looks == 1 && scene.source.wishes.isEmpty)
        scene.source.show(ScriptedFixSource.none)
        scene.clock.advance(to: scene.clock.now().bootSeconds + 10)
        #expect(try await scene.service.status().sources.isEmpty, "as well when one is gone")
        await scene.service.stop()
    }

    @Test func `R6: A source that appears during a check counts, even if the check ends later`()
        async throws
    {
        let scene = try Scene()
        try await scene.prepare()
        let service = scene.service
        let source = LocationStatus.SourceStatus(name: "gpsd", isAvailable: true, sentence: "It is there.")
        scene.source.show(ScriptedFixSource.none)
        scene.source.duringNextLook {
            await service.take(.sources([source], canMonitorRegions: true, canMonitorSignificantChanges: false))
        }
        scene.clock.advance(to: scene.clock.now().bootSeconds + 10)
        #expect(try await service.processLocation(of: Scene.app).canMonitorRegions)
        #expect(try await service.status().sources == [source])
        #expect(scene.source.looks == 1)
        await service.stop()
    }

    @Test func `R6: Callers that wait for the sources get a response when the service stops`() async throws {
        let scene = try Scene()
        try await scene.service.prepare()
        let service = scene.service
        let process = Task { try await service.processLocation(of: Scene.app) }
        for _ in 0..<100 { _ = try await service.status(of: Scene.app) }
        await service.stop()
        #expect(try await !process.value.canMonitorRegions)
    }

    @Test func `R6: The service can repeat a question that could not be shown, and the app gets the answer`()
        async throws
    {
        let scene = try Scene()
        try await scene.prepare()
        let run = Task { await scene.service.run() }
        // The user cannot be asked, so the permission stays the same.
        #expect(try await scene.service.requestAuthorization(.always, for: Scene.app).permission == .ask)
        try await eventually("the question") { scene.told.words.count == 1 }
        try await eventually("its end") {
            try await scene.service.status(of: Scene.app).sentence.contains("being asked") == false
        }
        scene.told.answer(.always)
        _ = try await scene.service.requestAuthorization(.always, for: Scene.app)
        try await eventually("the answer") { scene.told.words.contains("permission \(Scene.app) always") }
        #expect(scene.told.words.first == "ask \(Scene.app) Home It waters the plants. always")
        #expect(try await scene.service.processLocation(of: Scene.app).permission == .always)
        await scene.service.stop()
        await run.value
    }

    @Test func `R6: A withdrawn permission cancels the app's events and notifies the app`() async throws {
        let scene = try Scene()
        try await scene.begin()
        try await scene.service.setSignificantChanges(true, for: Scene.app)
        await scene.move(0, after: 300)
        await scene.move(0, after: 30)
        #expect(try await scene.wakes().map(\.source) == [.significantChange, .region])
        _ = try await scene.service.change(Scene.app, AppLocationChange(permission: .denied))
        #expect(try await scene.wakes().isEmpty)
        #expect(scene.told.words.suffix(2) == ["permission \(Scene.app) denied", "wakes \(Scene.app)"])
        #expect(scene.source.wishes.last == FixDemand())
    }

    @Test func `R6: The service answers 503 if its store fails`() async throws {
        let scene = try Scene()
        try await scene.prepare()
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) {
            try await scene.service.addRegion(LocationScene.region(), for: Scene.app)
        }
        #expect(problem?.status == 503)
        scene.gate.open()
        await scene.service.stop()
        let behind = await #expect(throws: Problem.self) { try await scene.service.status() }
        #expect(behind?.status == 503)
    }

    enum Asking: CaseIterable, Sendable {
        case deny, addRegion, changeRegion, removeRegion, watchChanges

        func ask(_ service: LocationService) async throws(Problem) {
            switch self {
            case .deny: _ = try await service.change(Scene.app, AppLocationChange(permission: .denied))
            case .addRegion: try await service.addRegion(LocationScene.region("other"), for: Scene.app)
            case .changeRegion:
                var region = LocationScene.region()
                region.radius += 50
                try await service.addRegion(region, for: Scene.app)
            case .removeRegion:
                try await service.removeRegion(LocationScene.region().identifier, of: Scene.app)
            case .watchChanges: try await service.setSignificantChanges(true, for: Scene.app)
            }
        }
    }

    @Test(arguments: Asking.allCases)
    func `R6: The service refuses a request that it cannot write, without any change`(
        _ asking: Asking
    ) async throws {
        let scene = try Scene()
        try await scene.begin()
        await scene.move(0, after: 300)
        await scene.move(0, after: 30)
        let (before, wakes) = (try await scene.service.status(of: Scene.app), try await scene.wakes())
        let (words, wishes) = (scene.told.words, scene.source.wishes)
        #expect(wakes.count == 1)
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) { try await asking.ask(scene.service) }
        #expect(problem?.status == 503)
        #expect(scene.told.words == words && scene.source.wishes == wishes)
        scene.gate.open()
        #expect(try await scene.service.status(of: Scene.app) == before)
        // The next write does not contain the refused change either.
        await scene.service.receive(.use(isInFront: true), of: Scene.app)
        await scene.service.receive(.use(isInFront: false), of: Scene.app)
        #expect(try await scene.wakes() == wakes)
        await scene.service.stop()
        let next = try Scene(after: scene)
        try await next.prepare()
        let kept = try await next.service.status(of: Scene.app)
        #expect(kept.permission == before.permission && kept.regions.map(\.region) == before.regions.map(\.region))
        #expect(kept.monitorsSignificantChanges == before.monitorsSignificantChanges)
        await next.service.stop()
    }

    @Test func `R6: A user's answer that cannot be written does not count, and can be requested again`()
        async throws
    {
        let scene = try Scene()
        scene.told.answer(.always)
        try await scene.prepare()
        let running = Task { [service = scene.service] in await service.run() }
        _ = try await scene.service.requestAuthorization(.always, for: Scene.other)
        try await eventually("the answer") { scene.told.words.contains("permission \(Scene.other) always") }
        // The service knows the app, so the question itself writes nothing.
        try await scene.service.setSignificantChanges(true, for: Scene.app)
        scene.gate.shut()
        func asked() -> Int { scene.told.words.count { $0.hasPrefix("ask \(Scene.app)") } }
        for count in 1...2 {
            try await eventually("question \(count)") {
                _ = try await scene.service.requestAuthorization(.always, for: Scene.app)
                return asked() >= count
            }
        }
        #expect(try await scene.service.processLocation(of: Scene.app).permission == .ask)
        scene.gate.open()
        #expect(!scene.told.words.contains("permission \(Scene.app) always"))
        await scene.service.stop()
        await running.value
    }

    @Test func `R6: The service skips unreadable rows and reports them`() async throws {
        let scene = try Scene()
        try await scene.begin(Scene.other)
        await scene.service.stop()
        try await scene.store.write { transaction in
            try transaction.putLocation(["no": "record"], of: Scene.app)
            try transaction.putLocationOfDevice([1])
        }
        let next = try Scene(after: scene)
        try await next.prepare()
        #expect(
            Set(try await next.journal(.unreadable).map(\.detail)) == [
                "location record of \(Scene.app)", "location record of the device",
            ])
        // The app starts again without permission, and the service determines unknown sides again.
        #expect(try await next.service.status(of: Scene.app).permission == .ask)
        #expect(try await next.service.status(of: Scene.other).regions.map(\.state) == [.unknown])
        await next.move(1_000, after: 60)
        #expect(try await next.service.status(of: Scene.other).regions.map(\.state) == [.outside])
    }

    // MARK: - Crashes

    /// Lets the device enter the region of two apps, and returns the events that they received.
    private static func story(_ scene: ServiceScene) async throws -> [LocationEvent] {
        await scene.move(0, after: 300)
        await scene.move(0, after: 30)
        var events = try await scene.endWakes()
        await scene.service.take(.receiver(seconds: 4))
        await scene.move(0, after: 700)
        events += try await scene.endWakes()
        return events
    }

    @Test func `R6: A crash after any write neither loses nor repeats a region event`() async throws {
        var writes = 0
        var isBroken = true
        while isBroken {
            let scene = try Scene()
            for app in [Scene.app, Scene.other] { try await scene.begin(app) }
            scene.gate.open(for: writes)
            var heard = try await Self.story(scene)
            isBroken = scene.gate.isShut
            await scene.service.stop()

            // The next service starts with the stored state, and the device is at the same location.
            scene.gate.open()
            let next = try Scene(after: scene)
            try await next.prepare()
            heard += try await next.endWakes()
            for _ in 0..<3 { await next.move(0, after: 30) }
            heard += try await next.endWakes()
            #expect(heard.map(\.kind) == [.entered, .entered], "after \(writes) writes")
            #expect(try await next.journal(.regionEntered).count == 2, "after \(writes) writes")
            for app in [Scene.app, Scene.other] {
                let status = try await next.service.status(of: app)
                #expect(status.wakes == 1 && status.regions.map(\.crossings) == [1], "after \(writes) writes")
                #expect(status.regions.map(\.state) == [.inside], "after \(writes) writes")
            }
            await next.service.stop()
            try next.store.close()
            writes += 1
        }
        #expect(writes > 3)
    }
}
