import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests of rows that a feature writes and that wake an app, from the transaction to the acknowledgement.
@Suite(.timeLimit(.minutes(20))) struct WakeServiceTests {
    private static let modes = "X-Nightshift-BackgroundModes=fetch;remote-notification;"

    private func put(_ scene: ServiceScene, _ source: WakeSource, payload: String? = nil) async throws {
        let now = scene.clock.now()
        try await scene.store.write {
            try $0.putWake(ServiceScene.app, source, payload: payload.map { Data($0.utf8) }, now: now)
        }
    }

    private func launched(_ scene: ServiceScene) async throws -> (Int32, LaunchPlan) {
        let host = try #require(scene.scripted)
        try await eventually("the launch") { !host.living.isEmpty }
        let process = try #require(host.living.first)
        return (process, try #require(host.plan(process)))
    }

    private func wanted(_ scene: ServiceScene) async throws -> [WantedWake] {
        try await scene.store.read { try $0.wantedWakes() }
    }

    @Test func `A wake's database row launches the app and is deleted when the app acknowledges the wake`() async throws
    {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, .push, payload: #"{"aps":{}}"#)
        let (process, plan) = try await launched(scene)
        #expect(plan.environment["NIGHTSHIFT_LAUNCH"] == "background" && plan.environment["NIGHTSHIFT_WAKE"] == "push")
        #expect(plan.environment["NIGHTSHIFT_SESSION"] == nil && plan.environment["NIGHTSHIFT_WAKE_LIMIT"] == "30")
        let reader = CommandReader(
            try await scene.service.connect(process: process, executable: nil, app: ServiceScene.app))
        let command = try await reader.command(.handleWake)
        #expect(command.source == .push && command.payload == Data(#"{"aps":{}}"#.utf8) && command.limit == 30)
        #expect(try await scene.status().wakes.map(\.reason) == [.push])
        #expect(try await wanted(scene).count == 1, "it is not acknowledged yet")
        try await scene.service.acknowledge(process: process, command: command.number)
        try await eventually("the row to be gone") { try await wanted(scene).isEmpty }
        try await eventually("the journal") {
            try await scene.history().contains { $0.decision == .appWakeCompleted && $0.detail == "push" }
        }
        try await scene.end()
    }

    @Test func `A program's exit status completes the wake of a database row`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, .fetch)
        let (process, _) = try await launched(scene)
        scene.scripted?.end(process, .exited(0))
        try await eventually("the row to be gone") { try await wanted(scene).isEmpty }
        try await scene.end()
    }

    @Test func `The service drops a fetch during which the app crashes, and records the reason`() async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        try await put(scene, .fetch)
        let (process, _) = try await launched(scene)
        scene.scripted?.end(process, .signalled(11))
        try await eventually("the row to be gone") { try await wanted(scene).isEmpty }
        try await eventually("the journal") {
            try await scene.history().contains {
                $0.decision == .appWakeDropped && $0.detail == "fetch: Its process ended before the work was done."
            }
        }
        try await scene.end()
    }

    @Test func `A row written just before the service died wakes the app after the restart`() async throws {
        let first = try await ServiceScene(keys: Self.modes)
        try await first.crash()
        let store = try Store(paths: first.paths, now: first.clock.now())
        let now = first.clock.now()
        try await store.write { try $0.putWake(ServiceScene.app, .region, key: "home", now: now) }
        try store.close()
        let next = try await ServiceScene(keys: Self.modes, after: first)
        let (process, _) = try await launched(next)
        next.scripted?.end(process, .exited(0))
        try await eventually("the row to be gone") { try await wanted(next).isEmpty }
        try await next.end()
    }

    @Test func `The removal of an app deletes its rows`() async throws {
        let scene = try await ServiceScene()
        try await put(scene, .push)
        try await scene.service.uninstall(ServiceScene.app)
        #expect(try await wanted(scene) == [])
        try await scene.end()
    }

    @Test(arguments: [false, true])
    func `A request to end an app returns when its process is gone, even after a new launch`(
        kills: Bool
    ) async throws {
        let scene = try await ServiceScene(keys: Self.modes)
        let (service, host) = (scene.service, try #require(scene.scripted))
        let process = try #require(try await service.launch(ServiceScene.app, LaunchRequest()).processID)
        try await put(scene, .push)
        let isAnswered = Watched(false)
        let ending = Task {
            _ = try await kills ? service.kill(ServiceScene.app) : service.quit(ServiceScene.app, force: false)
            isAnswered.update { $0 = true }
        }
        if !kills {
            try await eventually("the request") { host.isAskedToEnd(process) }
            host.end(process, .exited(0))
        }
        try await isAnswered.wait(for: "the answer") { $0 }
        try await ending.value
        try await eventually("another process") { host.living.count == 1 && host.living.first != process }
        try await scene.end()
    }
}
