import Apps
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

/// Whose process connects, while others end.
@Suite(.timeLimit(.minutes(20))) struct ConnectionServiceTests {
    /// As one that has ended by then, or is one too many for the service's descriptors.
    @Test func `A process whose end nobody would learn of does not count as the app's`() async throws {
        let scene = try await ServiceScene()
        let problem = await #expect(throws: Problem.self) {
            // Of this one the scripted host knows nothing.
            _ = try await scene.service.connect(process: getpid(), executable: nil, app: ServiceScene.app)
        }
        #expect(problem?.status == 503)
        let status = try await scene.status()
        #expect(status.state == .notRunning && status.processID == nil)
        let launched = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        #expect(launched.processID != nil && launched.processID == scene.scripted?.living.first)
        try await scene.end()
    }
}
