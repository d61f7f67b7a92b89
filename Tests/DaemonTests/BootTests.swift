import Apps
import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests of the start of a service and of the connections between its parts (mission row B1).
    @Suite struct BootTests {
        @Test func `B1: A composed service has created its home and its database, but not its socket`() async throws {
            let home = try TestHome()
            let daemon = try await home.daemon()
            defer { withExtendedLifetime(daemon) {} }
            for directory in [home.paths.state, home.paths.runtime, home.paths.partials, home.paths.files] {
                let mode = try FileManager.default.attributesOfItem(atPath: directory.path)[.posixPermissions] as? Int
                #expect(mode == 0o700, "\(directory.path)")
            }
            #expect(home.exists(home.paths.database))
            #expect(!home.exists(home.paths.socket))
        }

        @Test func `T4 B1: A download passes through all parts of the service, from request to file`() async throws {
            let (home, origin) = (try TestHome(), try OriginServer())
            let content = Content.seeded(size: 300_000, seed: 31)
            origin.serve("/file", Resource(content: content))
            try await home.serve { service in
                let id = try await service.enqueue(.download(origin.url("/file"), to: home.directory.path("to")))
                let task = try await service.waitForEnd(of: id)
                #expect(task.state == .completed)
                #expect(try content.firstMismatch(inFileAt: try #require(task.file)) == nil)
                let decisions = try await service.journal(task: id).map(\.decision)
                #expect(decisions.first == .accepted && decisions.contains(.started))
                #expect(decisions.suffix(2) == [.finishing, .completed])
            }
            #expect(home.log.troubles == [])
        }

        @Test func `L6: The first journal entry of each run contains the device conditions`() async throws {
            let home = try TestHome(device: #""power": "battery", "battery": 41, "idle": true"#)
            try await home.serve { service in
                let first = try #require(try await service.journal().first)
                #expect(first.decision == .deviceChanged && first.inputs?["power"] == "battery")
                #expect(first.inputs?["battery"] == "41")
                #expect(try await service.device().providers.map(\.name) == [.trace])
            }
            try await home.serve { service in
                let decisions = try await service.journal().map(\.decision)
                let last = try #require(decisions.lastIndex(of: .deviceChanged))
                #expect(decisions[..<last].contains(.serviceStopping))
                // Only the first run is checked, because the transfers of the second run start after it.
                #expect(decisions[..<last].count { $0 == .serviceStarted } <= 1)
            }
        }

        /// Without the response of the bus, the device would count as plugged in, which is the default.
        @Test func `T3: The service decides only after the system services have reported the conditions`()
            async throws
        {
            let bus = try await PrivateBus.started()
            let upower = try await MockService(.upower, on: bus, parameters: #"{"OnBattery": true}"#)
            defer { withExtendedLifetime(upower) {} }
            var home = try TestHome()
            home.environment["NIGHTSHIFT_DEVICE_TRACE"] = nil
            home.environment["DBUS_SYSTEM_BUS_ADDRESS"] = bus.address
            try await home.serve { service in
                let first = try #require(try await service.journal().first)
                #expect(first.decision == .deviceChanged && first.inputs?["power"] == "battery")
            }
        }

        /// If transfers ran before they received the device state, they would assume that the device is plugged in and
        /// awake.
        @Test func `T3 L6: A service that starts while dozing does not start waiting transfers`() async throws {
            let home = try TestHome(device: #""power": "battery", "battery": 90, "idle": true"#)
            let origin = try OriginServer()
            origin.serve("/file", .seeded(size: 1_000, seed: 32))
            let id = try await home.serve { service in
                try await service.doze(.dozing)
                var request = TaskRequest.download(origin.url("/file"), to: home.directory.path("to"))
                request.isDiscretionary = true
                let id = try await service.enqueue(request)
                try await service.wait(id, for: "doze") { $0.wait?.reason == .doze }
                return id
            }
            try await home.serve { service in
                #expect(try await service.device().doze.phase == .dozing)
                // A later transfer that need not wait completes. The first transfer therefore had its chance to start.
                let other = try await service.enqueue(.download(origin.url("/file"), to: home.directory.path("now")))
                #expect(try await service.waitForEnd(of: other).state == .completed)
                #expect(try await service.task(id).wait?.reason == .doze)
                #expect(origin.totals(for: "/file").requests == 1)
                try await service.doze(.window)
                #expect(try await service.waitForEnd(of: id).state == .completed)
            }
            #expect(home.log.troubles == [])
        }

        @Test func `L4: The device coordinator learns when an app's background task begins and ends`()
            async throws
        {
            let home = try TestHome(device: #""power": "battery", "battery": 90, "idle": true"#)
            try await home.serve { service in
                try await service.change(DeviceChange(backgroundPolicy: BackgroundPolicy(.contiguous)))
                // This process acts as the app.
                var commands = try await service.client.events("/v1/process/commands")
                defer { withExtendedLifetime(commands) {} }
                #expect(try await commands.next() == "hello")
                try await service.client.send(
                    "POST", "/v1/process/state", try JSON.encode(ProcessStateChange(state: .active)))
                try await service.client.send(
                    "POST", "/v1/process/background-tasks",
                    try JSON.encode(BackgroundTaskRequest(number: 1, name: "sync")))
                try await service.client.send(
                    "POST", "/v1/process/state", try JSON.encode(ProcessStateChange(state: .background)))
                try await eventually("an app that holds the device awake") {
                    try await service.device().holders.map(\.tasks) == [["sync"]]
                }
                await #expect(throws: Problem.self) { try await service.doze(.dozing) }
                try await service.client.send("DELETE", "/v1/process/background-tasks/1")
                try await eventually("nobody who holds it awake") { try await service.device().holders.isEmpty }
                #expect(try await service.doze(.dozing).doze.phase == .dozing)
            }
        }

        @Test func `B1: The administrator's settings apply to transfers without settings of their own`() async throws {
            var home = try TestHome()
            let proxy = try OriginServer()
            proxy.serve("http://nowhere.invalid/file", .text("by way of the proxy"))
            home.environment["NIGHTSHIFT_PROXY"] = proxy.url("")
            try await home.serve { service in
                let id = try await service.enqueue(
                    .download("http://nowhere.invalid/file", to: home.directory.path("to")))
                let task = try await service.waitForEnd(of: id)
                #expect(task.state == .completed, "\(task)")
                #expect(try fileBytes(try #require(task.file)) == Array("by way of the proxy".utf8))
            }
        }

        @Test func `B1: Two homes have two independent services`() async throws {
            let (first, second, origin) = (try TestHome(), try TestHome(), try OriginServer())
            origin.serve("/file", .seeded(size: 1_000, seed: 33))
            try await first.serve { one in
                try await second.serve { other in
                    let id = try await one.enqueue(.download(origin.url("/file"), to: first.directory.path("to")))
                    #expect(try await one.waitForEnd(of: id).state == .completed)
                    #expect(try await other.status().tasks.values.reduce(0, +) == 0)
                    try await other.change(DeviceChange(overrides: [.power: "battery"]))
                    #expect(try await one.device().conditions.power == .external)
                }
                // The end of one service does not end the other.
                #expect(try await one.status().home == first.paths.state.path)
            }
        }
    }
}
