import Foundation
import Location
import NightshiftAPI
import Runtime
import SimulationSupport
import TestSupport
import Testing

/// Tests of the location streams of running apps, through the service (R6).
@Suite(.timeLimit(.minutes(20))) struct UpdateStreamTests {
    private typealias Scene = ServiceScene

    /// Returns a running service and an app that has permission while it is in use.
    private static func running() async throws -> (scene: Scene, run: Task<Void, Never>) {
        let scene = try Scene()
        try await scene.prepare()
        await scene.service.take(.sources([], canMonitorRegions: true, canMonitorSignificantChanges: false))
        _ = try await scene.service.change(Scene.app, AppLocationChange(permission: .whenInUse))
        let run = Task { [service = scene.service] in await service.run() }
        return (scene, run)
    }

    @Test func `R6: The stream of a request for one location ends after one location`() async throws {
        let (scene, run) = try await Self.running()
        let stream = try await scene.service.updates(
            LocationUpdateRequest(accuracy: 10, isOnce: true), for: Scene.app, asksUser: false)
        #expect(scene.source.wishes.map(\.fix) == [10])
        await scene.move(0, after: 2)
        var heard: [LocationUpdate] = []
        for await update in stream { heard.append(update) }
        #expect(heard.compactMap(\.place?.accuracy) == [5])
        try await eventually("the receiver to be off") { scene.source.wishes.last?.fix == nil }
        await scene.service.stop()
        await run.value
    }

    @Test func `R6: The receiver turns off when nobody reads a stream`() async throws {
        let (scene, run) = try await Self.running()
        let heard = Watched<[LocationUpdate]>([])
        let stream = try await scene.service.updates(
            LocationUpdateRequest(accuracy: 10), for: Scene.app, asksUser: false)
        let reader = Task { for await update in stream { heard.update { $0.append(update) } } }
        await scene.move(0, after: 2)
        try await heard.wait(for: "a place") { $0.count == 1 }
        await scene.service.take(.receiver(seconds: 2))
        #expect(try await scene.service.status(of: Scene.app).updates?.isOn == true)
        reader.cancel()
        try await eventually("the end of the request") {
            try await scene.service.status(of: Scene.app).updates == nil
        }
        #expect(scene.source.wishes.last?.fix == nil)
        try await eventually("the alarm to be off") { scene.clock.nextWaking == nil }
        #expect(try await scene.service.status(of: Scene.app).receiverSeconds == 2)
        await scene.service.stop()
        await run.value
    }

    @Test func `R6: The receiver is off while an app is suspended, and on again when the app runs`() async throws {
        let (scene, run) = try await Self.running()
        let stream = try await scene.service.updates(
            LocationUpdateRequest(accuracy: 10), for: Scene.app, asksUser: false)
        await scene.service.receive(.suspended(true), of: Scene.app)
        #expect(scene.source.wishes.map(\.fix) == [10, nil])
        await scene.service.receive(.suspended(false), of: Scene.app)
        #expect(scene.source.wishes.map(\.fix) == [10, nil, 10])
        // The stream ends with the service.
        await scene.service.stop()
        for await _ in stream {}
        await run.value
    }

    @Test func `R6: A request that is refused has no stream`() async throws {
        let (scene, run) = try await Self.running()
        let stranger = AppID(rawValue: "org.example.None")
        await #expect(throws: Problem.self) {
            _ = try await scene.service.updates(
                LocationUpdateRequest(accuracy: 10), for: stranger, asksUser: false)
        }
        #expect(scene.source.wishes == [])
        await scene.service.stop()
        await run.value
    }
}
