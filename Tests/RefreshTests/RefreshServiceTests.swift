import Foundation
import NightshiftAPI
import Refresh
import Runtime
import Scheduler
import SimulationSupport
import Store
import TestSupport
import Testing

/// R1 R10: The refresh service with a real store: writes, restarts and notices to apps.
@Suite(.timeLimit(.minutes(20))) struct RefreshServiceTests {
    private typealias Scene = ServiceScene

    @Test func `R1: The service sets no alarm if no app participates`() async throws {
        let scene = try Scene([StateScene.manifest(modes: [.transfer])])
        try await scene.service.prepare()
        let run = Task { await scene.service.run() }
        await scene.service.apply(StateScene.idle())
        #expect(try await scene.service.status().nextLook == nil)
        #expect(scene.clock.sleepers == 0)
        await scene.service.stop()
        await run.value
    }

    @Test func `R1: The alarm fires when it is due, and is set again after the clock was set`() async throws {
        let scene = try Scene([StateScene.manifest(interval: .minimum)])
        try await scene.service.prepare()
        let run = Task { await scene.service.run() }
        try await eventually("an alarm") { scene.clock.sleepers == 1 }
        // The first fetch of the day begins without any event.
        var looks = 0
        while try await scene.wakes().isEmpty, looks < 200 {
            looks += 1
            let next = try #require(scene.clock.nextWaking)
            scene.clock.advance(to: next)
            try await eventually("another look") {
                let (waking, wakes) = (scene.clock.nextWaking, try await scene.wakes())
                return (waking.map { $0 > next } ?? false) || !wakes.isEmpty
            }
        }
        #expect(try await scene.wakes().map(\.source) == [.fetch])
        #expect((6...23).contains(scene.hour))
        try await scene.endWakes()
        try await eventually("the next alarm") { scene.clock.sleepers == 1 }
        let before = try #require(scene.clock.nextWaking)
        scene.clock.setWallClock(scene.clock.now().wallSeconds + 4 * 3_600)
        try await eventually("another alarm, or a fetch") {
            let wakes = try await scene.wakes()
            return scene.clock.nextWaking != before || !wakes.isEmpty
        }
        await scene.service.stop()
        await run.value
        #expect(scene.clock.sleepers == 0)
    }

    @Test func `R1: A restarted service has the requests that were stored on disk`() async throws {
        let scene = try Scene([StateScene.manifest(tasks: ["work", "more"])])
        let (service, app) = (scene.service, Scene.app)
        try await service.prepare()
        try await service.setInterval(.seconds(900), for: app)
        _ = try await service.change(app, AppRefreshChange(dailyCap: 3))
        let status = try await service.change(RefreshChange(isOn: false, dailyEnergy: 7, dailyBytes: 8))
        #expect(!status.isOn && status.budget.dailyEnergy == 7 && status.budget.dailyBytes == 8)
        #expect(scene.told.availability == ["\(app) denied"])
        await #expect(throws: Problem.self) {
            try await service.submit(StateScene.task(.refresh), for: app, isInFront: true)
        }
        _ = try await service.change(RefreshChange(isOn: true))
        try await service.submit(StateScene.task(.refresh, at: 99), for: app, isInFront: false)
        try await service.submit(StateScene.task(.processing, "more"), for: app, isInFront: false)
        await service.stop()

        let next = try Scene(after: scene)
        try await next.service.prepare()
        let kept = try await next.service.status()
        #expect(kept.isOn && kept.budget.dailyEnergy == 7 && kept.apps.map(\.app) == [app])
        #expect(kept.apps[0].interval == .seconds(900) && kept.apps[0].dailyCap == 3)
        #expect(try await next.service.scheduledTasks(of: app).map(\.identifier) == ["more", "work"])
        try await next.service.cancel("work", of: app)
        #expect(try await next.service.scheduledTasks(of: app).map(\.identifier) == ["more"])
        await #expect(throws: Problem.self) { try await next.service.status(of: Scene.other) }
        #expect(try await scene.journal(.refreshChanged).count == 4)
    }

    @Test func `R1: The service finds a manually installed entry at the next request for its app`() async throws {
        let scene = try Scene()
        try await scene.service.prepare()
        await #expect(throws: Problem.self) { try await scene.service.status(of: Scene.app) }
        scene.entries.install([StateScene.manifest(interval: .minimum)])
        #expect(try await scene.service.status(of: Scene.app).interval == .minimum)
        await scene.service.receive(.installed(nil), of: Scene.app)
        scene.entries.install([])
        await #expect(throws: Problem.self) { try await scene.service.status(of: Scene.app) }
    }

    @Test func `R1: The service handles events of an app whose entry was not reported before`() async throws {
        let manifests = [StateScene.manifest(interval: .minimum)]
        // A process gets the availability when it connects, and later only changes of the availability.
        let asked = try Scene()
        try await asked.service.prepare()
        #expect(await asked.service.availability(of: Scene.app) == .restricted)
        asked.entries.install(manifests)
        #expect(await asked.service.availability(of: Scene.app) == .available)
        _ = try await asked.service.change(RefreshChange(isOn: false))
        #expect(asked.told.availability == ["\(Scene.app) denied"])

        let used = try Scene()
        try await used.service.prepare()
        used.entries.install(manifests)
        await used.service.receive(.use(isInFront: true), of: Scene.app)
        #expect(try await used.service.status(of: Scene.app).lastUse != nil)

        let ended = try Scene()
        try await ended.service.prepare()
        ended.entries.install(manifests)
        await ended.service.receive(.forceQuit, of: Scene.app)
        #expect(try await ended.service.status(of: Scene.app).hold == "forceQuit")
    }

    @Test func `R1: An older list of desktop entries does not replace a newer one`() async throws {
        let scene = try Scene()
        try await scene.service.prepare()
        let (service, entries, manifest) = (scene.service, scene.entries, StateScene.manifest())
        // The app is installed while the service reads the desktop entries.
        entries.duringNextReading {
            entries.install([manifest])
            await service.receive(.installed(manifest), of: manifest.id)
        }
        _ = try await service.status(of: manifest.id)
        #expect(try await service.status(of: manifest.id).app == manifest.id)
        // The user has deleted the entry by hand, and a later read has found that already.
        entries.duringNextReading {
            entries.install([])
            _ = try? await service.status()
        }
        #expect(try await service.status().apps.isEmpty)
        await #expect(throws: Problem.self) { try await service.status(of: manifest.id) }
    }

    @Test func `R10: An app that must end its task gets the payload of the task's start`() async throws {
        let scene = try Scene([StateScene.manifest(tasks: ["work"])])
        try await scene.service.prepare()
        await scene.service.apply(StateScene.idle())
        let task = StateScene.task(.processing)
        try await scene.service.submit(task, for: Scene.app, isInFront: false)
        let wake = try #require(try await scene.wakes().first)
        #expect(wake.source == .processing && wake.key == "work")
        #expect(try JSON.decode(ScheduledTask.self, from: try #require(wake.payload)) == task)
        await scene.service.apply(DeviceState())
        #expect(scene.told.expired == ["\(Scene.app) processing work"])
        try await scene.endWakes(.failed)
        #expect(try await scene.service.status(of: Scene.app).scheduled.isEmpty)
    }

    @Test func `R1: A fetch records the bytes that its app's transfers moved since the start`() async throws {
        let scene = try Scene([StateScene.manifest()])
        try await scene.service.prepare()
        let session = SessionID(app: Scene.app, identifier: "s")
        let old = try await scene.store.write { transaction in
            _ = try transaction.putSession(Scene.app, "s", SessionSettings())
            var record = TaskRecord(
                session: session, origin: "https://example.org:443", state: .waiting, priority: 0.5,
                createdAt: StateScene.start, request: TaskRequest(url: "https://example.org/"))
            record = try transaction.insert(record)
            record.received = 5_000
            try transaction.update(record)
            return record
        }
        _ = try await scene.service.fetchNow(Scene.app)
        try await scene.store.write { transaction in
            var record = old
            (record.received, record.sent) = (25_000, 300)
            try transaction.update(record)
        }
        try await scene.endWakes()
        #expect(try await scene.service.status(of: Scene.app).fetches.map(\.bytes) == [20_300])
    }

    @Test func `R1: A task whose submission failed with a full store does not begin later`()
        async throws
    {
        let scene = try Scene([StateScene.manifest(tasks: ["work"])])
        try await scene.service.prepare()
        await scene.service.apply(StateScene.idle())
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) {
            try await scene.service.submit(StateScene.task(.processing), for: Scene.app, isInFront: false)
        }
        #expect(problem?.status == 503)
        scene.gate.open()
        await scene.pass(2_000, StateScene.idle())
        #expect(try await scene.wakes().isEmpty)
        #expect(try await scene.service.scheduledTasks(of: Scene.app).isEmpty)
        await scene.service.stop()
    }

    @Test func `R1: The service skips and reports unreadable rows`() async throws {
        let scene = try Scene([StateScene.manifest(interval: .minimum), StateScene.manifest(Scene.other)])
        try await scene.store.write { transaction in
            try transaction.putRefresh(["no": "record"], of: Scene.app)
            try transaction.putRefreshOfDevice([1])
        }
        try await scene.service.prepare()
        #expect(
            Set(try await scene.journal(.unreadable).map(\.detail)) == [
                "background refresh record of \(Scene.app)", "background refresh record of the device",
            ])
        #expect(try await scene.service.status().apps.count == 2)
        for _ in 0..<144 {
            await scene.pass(600)
            if try await !scene.wakes().isEmpty { break }
        }
        #expect(try await scene.wakes().map(\.app) == [Scene.app])
        await scene.service.stop()
    }
}
