import Apps
import Foundation
import NightshiftAPI
import SimulationSupport
import Store
import TestSupport
import Testing

/// Tests with a thousand apps at once.
@Suite(.timeLimit(.minutes(20))) struct ManyAppsTests {
    private static let count = 1_000

    @Test func `T9: A thousand programs that end just before their limit are woken once each`() async throws {
        let scene = try await ServiceScene()
        let host = try #require(scene.scripted)
        let apps = (0..<Self.count).map { AppID(rawValue: "org.example.app\($0)") }
        for app in apps {
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=App
                Exec=/bin/true
                X-Nightshift-BackgroundModes=fetch;

                """
            try entry.write(
                to: scene.paths.applications.appending(path: "\(app.rawValue).desktop"), atomically: true,
                encoding: .utf8)
        }
        let now = scene.clock.now()
        try await scene.store.write { transaction in
            for app in apps { try transaction.putWake(app, .fetch, now: now) }
        }
        try await eventually("all launches") { host.living.count == Self.count }
        // The service has yet to handle the ends when the time of all wakes is over.
        for process in host.living { host.end(process, .exited(0)) }
        scene.clock.advance(to: scene.clock.now().bootSeconds + 600)
        try await eventually("all ends") { try await scene.store.read { try $0.wantedWakes() }.isEmpty }
        #expect(host.launches.count == Self.count)
        let asked = host.deeds.filter { if case .terminated = $0 { true } else { false } }
        #expect(asked.isEmpty)
        let causes = try await scene.store.read { try $0.apps() }.records.compactMap(\.lastExit?.cause)
        #expect(causes.count == Self.count && causes.allSatisfy { $0 == .exited })
        try await scene.end()
    }
}
