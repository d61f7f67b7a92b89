import Apps
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Nothing is told of an app before it is on disk (docs/architecture.md, rule 3).
@Suite(.timeLimit(.minutes(20))) struct DurableStateTests {
    @Test func `The state of an app is told when its journal entry is on disk`() async throws {
        let scene = try await ServiceScene()
        let (service, store) = (scene.service, scene.store)
        let (gate, isWriting, isOpen) = (Gate(), Watched(false), Watched(false))
        async let blockade: Void = store.write { _ in
            isWriting.update { $0 = true }
            _ = gate.block(until: .now + .seconds(60))
        }
        try await isWriting.wait(for: "the writer") { $0 }
        async let launched = service.launch(ServiceScene.app, LaunchRequest())
        try await eventually("the process") {
            scene.scripted?.deeds.contains { if case .launched = $0 { true } else { false } } ?? false
        }
        async let told = Self.state(service, isOpen)
        try await passTime(.milliseconds(300), because: "That nothing is told is seen only over time.")
        // A service that dies now leaves nobody whom the next one does not know.
        #expect(scene.scripted?.living == [])
        isOpen.update { $0 = true }
        gate.open()
        let (state, wasOpen) = try await told
        #expect(wasOpen)
        #expect(state != .notRunning)
        #expect(try await scene.history().contains { $0.app == ServiceScene.app })
        _ = try await (launched, blockade)
        #expect(scene.scripted?.living.count == 1)
        try await scene.end()
    }

    /// With whether anything could be written by the time that it was told.
    private static func state(_ service: AppService, _ isOpen: Watched<Bool>) async throws -> (AppState, Bool) {
        let status = try await service.app(ServiceScene.app)
        return (status.state, isOpen.read { $0 })
    }
}
