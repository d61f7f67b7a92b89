import Apps
import Foundation
import NightshiftAPI
import Runtime
import SimulationSupport
import TestSupport
import Testing

/// Tests of several parts that receive the events of apps.
@Suite struct AppEventTests {
    @Test func `R1 R3 R6: Every part receives every event in order, and adds its notices`() async throws {
        let scene = try await ServiceScene()
        let received = Watched<[String]>([])
        let refresh = ProcessEvent.refresh(RefreshNotice(availability: .available))
        let push = ProcessEvent.push(PushNotice(token: "0a"))
        for (name, notices) in [("1", [refresh]), ("2", [push]), ("3", [])] {
            scene.service.events.subscribe(
                notices: { _ in notices },
                receive: { event, _ in
                    let text =
                        switch event {
                        case .installed(let manifest): manifest?.name ?? "gone"
                        case .use(let isInFront): "\(isInFront)"
                        default: "\(event)"
                        }
                    received.update { $0.append("\(name): \(text)") }
                })
        }
        let entry = scene.paths.applications.appending(path: "\(ServiceScene.app.rawValue).desktop")
        _ = try await scene.service.install(entry.path)
        _ = try await scene.service.launch(ServiceScene.app, LaunchRequest())
        let host = try #require(scene.scripted)
        host.end(try #require(host.living.first), .exited(0))
        try await eventually("its end") { try await scene.status().state == .notRunning }
        try await scene.service.uninstall(ServiceScene.app)
        let events = received.read { $0 }
        let ofFirst = events.filter { $0.hasPrefix("1") }.map { $0.dropFirst(3) }
        #expect(ofFirst == ["App", "launched", "true", "false", "gone"])
        #expect(events == ofFirst.flatMap { event in ["1: \(event)", "2: \(event)", "3: \(event)"] })
        try await scene.end()
    }
}
