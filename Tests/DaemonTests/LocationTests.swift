import Foundation
import Location
import NightshiftAPI
import Operations
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests of location in a whole service.
    @Suite struct LocationTests {
        private static let app = AppID(rawValue: "org.example.Home")

        private static func region() throws -> MonitoredRegion {
            let center = try #require(Coordinate(latitude: 52.5, longitude: 13.4))
            return MonitoredRegion(identifier: "home", center: center, radius: 100)
        }

        private static func install(in home: TestHome) throws {
            try FileManager.default.createDirectory(at: home.paths.applications, withIntermediateDirectories: true)
            try "[Desktop Entry]\nType=Application\nName=Home\nExec=/bin/true\nX-Nightshift-LocationReason=It greets.\n"
                .write(
                    to: home.paths.applications.appending(path: "\(app.rawValue).desktop"), atomically: true,
                    encoding: .utf8)
        }

        /// Runs a service whose parts the test can access.
        private func run(_ home: TestHome, _ body: (LocationService) async throws -> Void) async throws {
            let daemon = try await home.daemon()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await daemon.run() }
                do {
                    try await eventually("an answer") {
                        (try? await home.client.get("/v1/status", as: ServiceStatus.self)) != nil
                    }
                    try await body(daemon.operations.location)
                    try await home.client.send("POST", "/v1/shutdown")
                } catch {
                    tasks.cancelAll()
                    throw error
                }
                try await tasks.waitForAll()
            }
        }

        @Test func `R6: An overridden location determines the states of regions, which the next service keeps`()
            async throws
        {
            let home = try TestHome()
            try Self.install(in: home)
            try await run(home) { location in
                _ = try await location.change(Self.app, AppLocationChange(permission: .always))
                try await location.addRegion(try Self.region(), for: Self.app)
                #expect(try await location.status(of: Self.app).regions.map(\.state) == [.unknown])
                _ = try await home.client.patch(
                    "/v1/device", DeviceChange(overrides: [.location: "52.5,13.4,5"]), as: DeviceStatus.self)
                try await eventually("the side") {
                    try await location.status(of: Self.app).regions.map(\.state) == [.inside]
                }
                let status = try await location.status()
                #expect(status.sources.contains { $0.name == "override" && $0.isAvailable })
                #expect(status.apps.map(\.sentence) == ["It is notified when the device enters or leaves one region."])
                // The initial location is not a region event.
                #expect(status.apps.map(\.wakes) == [0])
            }
            try await run(home) { location in
                let kept = try await location.status(of: Self.app)
                #expect(kept.permission == .always && kept.regions.map(\.state) == [.inside])
            }
        }
    }
}
