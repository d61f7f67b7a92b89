import Apps
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

/// Tests of the app of a connecting process while other processes end.
@Suite(.timeLimit(.minutes(20))) struct ConnectionServiceTests {
    /// The service cannot watch a process, for example, if the process has already ended or no descriptor is free.
    @Test func `A process whose end the service cannot watch does not count as the app's process`() async throws {
        let scene = try await ServiceScene()
        let problem = await #expect(throws: Problem.self) {
            // The scripted host does not know this process.
            _ = try await scene.service.connect(process: getpid(), executable: nil, app: ServiceScene.app)
        }
        #expect(problem?.status == 503)
        let status = try await scene.status()
        #expect(status.state == .notRunning && status.processID == nil)
        let launched = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        #expect(launched.processID != nil && launched.processID == scene.scripted?.living.first)
        try await scene.end()
    }

    /// An app that restarts itself connects in this way, for example.
    @Test func `The service distinguishes a connecting process from the previous process that ends`() async throws {
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
        // The library connects in the same way.
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
