import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests that the service reports nothing about an app before it is on disk (docs/architecture.md, rule 3).
@Suite(.timeLimit(.minutes(20))) struct DurableStateTests {
    @Test func `The service reports the state of an app only after its journal entry is on disk`() async throws {
        let scene = try await ServiceScene()
        let (service, isOpen) = (scene.service, Watched(false))
        let hold = try await StoreHold(scene.store)
        async let launched = service.launch(ServiceScene.app, LaunchRequest())
        try await eventually("the process") {
            scene.scripted?.deeds.contains { if case .launched = $0 { true } else { false } } ?? false
        }
        async let told = Self.state(service, isOpen)
        try await passTime(.milliseconds(300), because: "The absence of a report shows only over time.")
        // If the service dies now, it leaves no process that the next service does not know.
        #expect(scene.scripted?.living == [])
        isOpen.update { $0 = true }
        hold.release()
        let (state, wasOpen) = try await told
        #expect(wasOpen)
        #expect(state != .notRunning)
        #expect(try await scene.history().contains { $0.app == ServiceScene.app })
        _ = try await launched
        #expect(scene.scripted?.living.count == 1)
        try await scene.end()
    }

    @Test func `A policy that cannot be stored is refused and has no effect`() async throws {
        let scene = try await ServiceScene()
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let kept = try await scene.service.change(ServiceScene.app, AppChange(backgroundPolicy: "contiguous:60"))
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) {
            try await scene.service.change(ServiceScene.app, AppChange(backgroundPolicy: "contiguous:77"))
        }
        #expect(problem?.status == 503)
        #expect(try await scene.status().background.policy == kept.background.policy)
        scene.gate.open()
        // The next write of the app contains the same setting.
        _ = try await scene.service.background(ServiceScene.app)
        try await scene.crash()
        let next = try await ServiceScene(after: scene)
        #expect(try await next.status().background.policy == BackgroundPolicy(.contiguous, seconds: 60))
        try await next.end()
    }

    @Test func `A step that waits while the user's setting is being stored keeps that setting`() async throws {
        let scene = try await ServiceScene()
        let (service, app) = (scene.service, ServiceScene.app)
        _ = try await service.launch(app, LaunchRequest())
        let hold = try await StoreHold(scene.store)
        async let change = service.change(app, AppChange(backgroundPolicy: "contiguous:60"))
        async let step = service.background(app)
        try await passTime(.milliseconds(200), because: "Nothing reports that a change waits for its turn.")
        hold.release()
        _ = try await (change, step)
        try await scene.crash()
        let next = try await ServiceScene(after: scene)
        let status = try await next.status()
        #expect(status.background.policy == BackgroundPolicy(.contiguous, seconds: 60))
        #expect(status.state == .background || status.state == .suspended)
        try await next.end()
    }

    @Test func `An app whose removal cannot be stored remains installed`() async throws {
        let scene = try await ServiceScene()
        let app = ServiceScene.app
        _ = try await scene.service.change(app, AppChange(backgroundPolicy: "contiguous:60"))
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) { try await scene.service.uninstall(app) }
        #expect(problem?.status == 503)
        scene.gate.open()
        let status = try await scene.status()
        #expect(status.manifest != nil && status.background.policySource == .app)
        let folder = scene.paths.applications.path(percentEncoded: false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["\(app.rawValue).desktop"])
        #expect(!scene.partCalls.read { $0 }.contains(.installed(app, name: nil)))
        try await scene.service.uninstall(app)
        #expect(scene.partCalls.read { $0 }.contains(.installed(app, name: nil)))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        #expect(try await scene.store.read { try $0.app(app) } == nil)
        try await scene.end()
    }

    /// The service deletes the entry first. A service that dies during a removal leaves this state.
    @Test func `The next request for an app completes an interrupted removal`() async throws {
        let scene = try await ServiceScene()
        let app = ServiceScene.app
        _ = try await scene.service.change(app, AppChange(backgroundPolicy: "contiguous:60"))
        try FileManager.default.removeItem(at: scene.paths.applications.appending(path: "\(app.rawValue).desktop"))
        #expect(try await scene.service.list().apps.map(\.id) == [app])
        try await scene.service.uninstall(app)
        #expect(try await scene.service.list().apps.isEmpty)
        #expect(try await scene.store.read { try $0.app(app) } == nil)
        let problem = await #expect(throws: Problem.self) { try await scene.service.uninstall(app) }
        #expect(problem?.status == 404)
        try await scene.end()
    }

    @Test func `The service reports a force quit that cannot be stored, and stores it later`() async throws {
        let scene = try await ServiceScene()
        let app = ServiceScene.app
        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) { try await scene.service.quit(app, force: true) }
        #expect(problem?.status == 503)
        scene.gate.open()
        try await scene.pass(40, until: "what could not be written") {
            try await scene.store.read { try $0.app(app)?.isForceQuit } == true
        }
        #expect(try await scene.service.quit(app, force: true).isForceQuit)
        try await scene.end()
    }

    @Test func `A starting service deletes hidden entry files that a crashed service left`() async throws {
        let scene = try await ServiceScene()
        let folder = scene.paths.applications
        try Data("[Desk".utf8).write(to: folder.appending(path: ".nightshift-\(UUID().uuidString)"))
        try await scene.crash()
        let next = try await ServiceScene(after: scene)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        #expect(files == ["\(ServiceScene.app.rawValue).desktop"])
        try await next.end()
    }

    @Test func `The removal of an app deletes all its rows, even before the features have handled it`() async throws {
        let scene = try await ServiceScene()
        let (app, other) = (ServiceScene.app, AppID(rawValue: "org.example.other"))
        let record = ["of": "a part"]
        try await scene.store.write { [clock = scene.clock] transaction in
            for app in [app, other] {
                try transaction.putRefresh(record, of: app)
                try transaction.putLocation(record, of: app)
                try transaction.putPush(record, of: app)
                try transaction.putNotifications(record, of: app)
                try transaction.putWake(app, .push, key: "p", payload: Data(), now: clock.now())
            }
        }
        // The features of this scene only record the calls.
        try await scene.service.uninstall(app)
        let left = try await scene.store.read { transaction in
            typealias Kept = [String: String]
            return [
                Set(try transaction.refresh(Kept.self, Kept.self).apps.keys),
                Set(try transaction.location(Kept.self, Kept.self).apps.keys),
                Set(try transaction.pushes(Kept.self, Kept.self, Kept.self).apps.keys),
                Set(try transaction.notifications(Kept.self).apps.keys),
            ]
        }
        #expect(left == Array(repeating: [other], count: left.count))
        #expect(try await scene.store.read { try $0.wantedWakes() }.allSatisfy { $0.app != app })
        try await scene.end()
    }

    @Test func `The service recognises a program's new process while it stores the end of the first`() async throws {
        let scene = try await ServiceScene()
        let host = try #require(scene.scripted)
        let (first, second) = (try host.startByUser(), try host.startByUser())
        let reader = CommandReader(
            try await scene.service.connect(process: first.pid, executable: nil, app: nil))
        try await reader.events.wait(for: "hello") { !$0.isEmpty }
        let hold = try await StoreHold(scene.store)
        host.end(first.pid, .exited(0))
        try await reader.hasEnded.wait(for: "its end") { $0 }
        let connecting = Task { [service = scene.service] in
            try await service.connect(process: second.pid, executable: nil, app: nil)
        }
        // This waits until the service has made the decision, which it does before the write.
        for _ in 0..<200 { await Task.yield() }
        hold.release()
        let stream = try await connecting.value
        try await eventually("the first one's end in the journal") {
            try await scene.history().contains { $0.decision == .appEnded }
        }
        try await scene.service.beginBackgroundTask(
            process: second.pid, BackgroundTaskRequest(number: 1, name: "sync"))
        withExtendedLifetime(stream) {}
        try await scene.end()
    }

    /// Returns the state, and whether the gate was open when the service reported the state.
    private static func state(_ service: AppService, _ isOpen: Watched<Bool>) async throws -> (AppState, Bool) {
        let status = try await service.app(ServiceScene.app)
        return (status.state, isOpen.read { $0 })
    }
}
