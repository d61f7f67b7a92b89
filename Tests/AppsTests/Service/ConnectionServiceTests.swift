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

    /// As where an app starts itself anew.
    @Test func `Who connects while the end of the process before is taken in is not taken for that one`() async throws {
        let scene = try await ServiceScene()
        let host = try #require(scene.scripted)
        let first = try #require(try await scene.service.launch(ServiceScene.app, LaunchRequest()).processID)
        let reader = CommandReader(
            try await scene.service.connect(process: first, executable: nil, app: ServiceScene.app))
        try await reader.events.wait(for: "hello") { !$0.isEmpty }
        let second = try host.startByUser().pid
        scene.areTransfersBusy.update { $0 = true }
        host.end(first, .exited(0))
        try await reader.hasEnded.wait(for: "the end of its stream") { $0 }
        let early = CommandReader(
            try await scene.service.connect(process: second, executable: nil, app: ServiceScene.app))
        scene.areTransfersBusy.update { $0 = false }
        try await early.hasEnded.wait(for: "the end of a stream that was another one's") { $0 }
        // As the library does.
        let late = CommandReader(
            try await scene.service.connect(process: second, executable: nil, app: ServiceScene.app))
        try await late.events.wait(for: "hello") { !$0.isEmpty }
        try await eventually("it to be known") {
            let status = try await scene.status()
            return status.processID == second && status.isConnected && status.state == .active
        }
        #expect(!late.hasEnded.read { $0 })
        try await scene.end()
    }
}
