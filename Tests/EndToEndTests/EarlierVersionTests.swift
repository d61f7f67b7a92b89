import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the service continues with what services of earlier versions have stored.
@Suite struct EarlierVersionTests {
    /// The answers of a version's own API before it was killed (`Tests/Fixtures/Databases/record.py`).
    private struct Said: Decodable {
        struct Task: Decodable {
            var id: TaskID
            var url: String
            var kind: TaskKind
            var state: TaskState
        }

        var entry: String
        var tasks: [Task]
        var apps: [AppID]
        var regions: [String]
    }

    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/Databases")
    /// Two commits, and each release whose schema differs from that of the one before.
    private static let versions = ["947c35a0", "fcc60262", "v0.2.0"]

    @Test("B1: A service continues with the database of an earlier version that was killed", arguments: versions)
    func continues(version: String) async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/file", .seeded(size: 100_000, seed: 3))
        let said = try JSONDecoder().decode(
            Said.self, from: Data(contentsOf: Self.fixtures.appending(path: "\(version).json")))
        try #require(said.tasks.count == 7 && said.apps.count == 1 && said.regions == ["home"])
        let app = said.apps[0]
        for folder in [service.paths.applications, service.paths.state] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try Data(said.entry.utf8).write(to: service.paths.applications.appending(path: "\(app).desktop"))
        try FileManager.default.copyItem(
            at: Self.fixtures.appending(path: "\(version).sqlite"), to: service.paths.database)
        try await service.start()

        let page = try await service.api.get("/v1/tasks", as: TaskPage.self)
        #expect(page.unreadable == nil)
        #expect(page.tasks.map(\.id) == said.tasks.map(\.id))
        #expect(page.tasks.map(\.url) == said.tasks.map(\.url))
        #expect(page.tasks.map(\.kind) == said.tasks.map(\.kind))
        for (task, earlier) in zip(page.tasks, said.tasks) {
            // The server is gone, so that the download that was running waits or is at its next attempt.
            let expected: Set<TaskState> = earlier.state == .running ? [.waiting, .running] : [earlier.state]
            #expect(expected.contains(task.state), "\(task)")
        }
        let later = try #require(page.tasks.first { $0.url.hasSuffix("/later") })
        #expect(later.earliestBeginDate != nil && later.rateLimit == 1 << 20)

        let apps = try await service.api.get("/v1/apps", as: AppList.self)
        #expect(apps.apps.map(\.id) == said.apps && apps.unreadable == nil)
        let location = try await service.api.get("/v1/location/\(app)", as: AppLocationStatus.self)
        #expect(location.regions.map(\.region.identifier) == said.regions && location.permission == .always)
        let device = try await service.api.get("/v1/device", as: DeviceStatus.self)
        #expect(device.settings.backgroundPolicy == .contiguous && device.unreadable == nil)

        // A paused download and a new one work as before.
        let paused = try #require(said.tasks.first { $0.state == .suspended }).id
        #expect(try await service.cli(["resume", "\(paused)"]).code == 0)
        try await service.wait(paused, for: "a resumed state") { $0.state != .suspended }
        let id = try await service.api.enqueue(
            TaskRequest.download(origin.url("/file"), to: service.scratch.path("to")))
        #expect(try await service.waitForEnd(id).state == .completed)
        // A wake that waits would launch an app that was only killed again.
        #expect(try await service.cli(["app", "quit", "--force", app.rawValue]).code == 0)
    }
}
