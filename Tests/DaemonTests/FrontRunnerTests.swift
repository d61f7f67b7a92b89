import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests of the whole service with a real X server, a window manager and windows (mission row L8; decision 0038).
    @Suite struct FrontRunnerTests {
        private static let app = AppID(rawValue: "org.example.Terminal")

        /// Returns a home whose service finds the X server in its environment, and that has an app whose window belongs
        /// to another process.
        private func home(on server: PrivateXServer) throws -> TestHome {
            var home = try TestHome()
            home.environment["NIGHTSHIFT_DEVICE_TRACE"] = nil
            home.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(home.directory.path("no-bus"))"
            for name in ["DISPLAY", "XAUTHORITY"] { home.environment[name] = server.environment[name] }
            try FileManager.default.createDirectory(at: home.paths.applications, withIntermediateDirectories: true)
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=Terminal
                Exec=/bin/sh -c "xterm -class Nothing -e sleep 600 & wait"

                """
            try Data(entry.utf8).write(to: home.paths.applications.appending(path: "\(Self.app).desktop"))
            return home
        }

        private func state(_ service: RunningService) async throws -> AppState {
            try await service.client.get("/v1/apps/\(Self.app)", as: AppStatus.self).state
        }

        @Test func `L8: An app is suspended when its window loses the focus, and resumed when it regains it`()
            async throws
        {
            let server = try await PrivateXServer.started()
            try await server.startWindowManager()
            try await home(on: server).serve { service in
                try await eventually("the word of the X server") { try await service.device().front.source == .x11 }
                _ = try await service.client.post(
                    "/v1/apps/\(Self.app)/launch", LaunchRequest(), as: AppStatus.self)
                try await eventually("its window in front") { try await service.device().front.app == Self.app }
                #expect(try await state(service) == .active)
                let other = try await server.open("Other")
                // A program that was just launched has 20 s to connect.
                try await eventually("its suspension", within: .seconds(60)) {
                    try await state(service) == .suspended
                }
                #expect(try await service.device().front.app == nil)
                other.process.kill()
                try await eventually("its return") { try await state(service) == .active }

                let settings = try await service.change(DeviceChange(followsFront: false)).settings
                #expect(!settings.followsFront)
                let another = try await server.open("Another")
                try await eventually("the other window in front") { try await service.device().front.app == nil }
                #expect(try await state(service) == .active)
                another.process.kill()
                _ = try await service.client.post(
                    "/v1/apps/\(Self.app)/quit", QuitRequest(force: true), as: AppStatus.self)
            }
        }

        @Test func `L8: Without a display or with a trace, no source reports the focus`() async throws {
            var home = try TestHome()
            try await home.serve { service in
                let front = try await service.device().front
                #expect(front == FrontStatus(detail: "a trace replaces the device"))
            }
            home.environment["NIGHTSHIFT_DEVICE_TRACE"] = nil
            home.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(home.directory.path("no-bus"))"
            try await home.serve { service in
                try await eventually("the answer") {
                    try await service.device().front == FrontStatus(detail: "there is no display")
                }
            }
        }
    }
}
