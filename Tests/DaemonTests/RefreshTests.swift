import Foundation
import NightshiftAPI
import Operations
import Refresh
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests of background refresh in a whole service, with real processes.
    @Suite struct RefreshTests {
        private static let app = AppID(rawValue: "org.example.Feed")

        /// Installs a script as an app. The script records the reason of each wake.
        private func install(in home: TestHome, _ script: String, keys: String = "") throws -> String {
            let (path, seen) = (home.directory.path("feed.sh"), home.directory.path("seen"))
            try "#!/bin/sh\necho \"$NIGHTSHIFT_WAKE\" >>\(seen)\n\(script)\n".write(
                toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            try FileManager.default.createDirectory(at: home.paths.applications, withIntermediateDirectories: true)
            try """
            [Desktop Entry]
            Type=Application
            Name=Feed
            Exec=/bin/sleep 60
            X-Nightshift-Wake=\(path)
            X-Nightshift-BackgroundModes=fetch;
            \(keys)

            """.write(
                to: home.paths.applications.appending(path: "\(Self.app.rawValue).desktop"), atomically: true,
                encoding: .utf8)
            return seen
        }

        /// Runs a service whose parts the test can access.
        private func run(_ home: TestHome, _ body: (Daemon) async throws -> Void) async throws {
            let daemon = try await home.daemon()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await daemon.run() }
                do {
                    try await eventually("an answer") {
                        (try? await home.client.get("/v1/status", as: ServiceStatus.self)) != nil
                    }
                    try await body(daemon)
                    try await home.client.send("POST", "/v1/shutdown")
                } catch {
                    tasks.cancelAll()
                    throw error
                }
                try await tasks.waitForAll()
            }
        }

        @Test(arguments: [("exit 0", RefreshResult.newData), ("exit 10", .noData), ("exit 3", .failed)])
        func `R1 B1: A fetch runs a script, whose exit status is the result`(
            script: String, result: RefreshResult
        ) async throws {
            let home = try TestHome()
            let seen = try install(in: home, script)
            try await run(home) { daemon in
                let status = try await daemon.operations.refresh.fetchNow(Self.app)
                #expect(status.fetches.count == 1)
                try await eventually("the result") {
                    try await daemon.operations.refresh.status(of: Self.app).fetches.last?.ended != nil
                }
                let fetches = try await daemon.operations.refresh.status(of: Self.app).fetches
                #expect(fetches.map(\.result) == [result])
                #expect(try String(contentsOfFile: seen, encoding: .utf8) == "fetch\n")
            }
            // The next service has the stored result.
            try await run(home) { daemon in
                let kept = try await daemon.operations.refresh.status(of: Self.app).fetches
                #expect(kept.map(\.result) == [result])
            }
        }

        @Test func `R2 L6: Background refresh receives the device state`() async throws {
            let home = try TestHome(device: #""power": "battery", "battery": 10, "idle": false"#)
            _ = try install(in: home, "exit 0", keys: "X-Nightshift-FetchInterval=minimum")
            try await run(home) { daemon in
                let status = try await daemon.operations.refresh.status()
                #expect(status.sentence == "The battery is almost empty.")
                #expect(status.apps.map(\.hold) == ["batteryLow"])
                _ = try await home.client.patch(
                    "/v1/device", DeviceChange(overrides: [.power: "external"]), as: DeviceStatus.self)
                try await eventually("the word of the device") {
                    try await daemon.operations.refresh.status().sentence == nil
                }
            }
        }
    }
}
