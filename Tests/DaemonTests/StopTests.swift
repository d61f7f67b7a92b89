import Clock
import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests that a service stops in order and without losses, whatever it is doing (mission row B1).
    @Suite struct StopTests {
        /// Returns all journal entries of a home whose service has ended.
        private func journal(_ home: TestHome) async throws -> [JournalEntry] {
            let store = try Store(paths: home.paths, now: SystemClock().now())
            let entries = try await store.read { try $0.journal(after: 0, limit: 10_000) }
            try store.close()
            return entries
        }

        @Test func `T8 B1: A service stops without waiting for transfers, and the next service continues them`()
            async throws
        {
            let (home, origin, gate) = (try TestHome(), try OriginServer(sendBuffer: 65_536), Gate())
            defer { gate.open() }
            let (content, sent) = (Content.seeded(size: 6 << 20, seed: 41), Int64(2 << 20))
            let ids = try await home.serve { service in
                var requests: [TaskRequest] = []
                for number in 0..<4 {
                    origin.serve(
                        "/\(number)", Resource(content: content, behaviours: [.holdAfter(sent, gate).times(1)]))
                    requests.append(.download(origin.url("/\(number)"), to: home.directory.path("to\(number)")))
                }
                let ids = try await service.enqueue(requests)
                for id in ids {
                    try await service.wait(id, for: "its bytes") { $0.countOfBytesReceived == sent }
                }
                return ids
            }
            // If the database is not closed last, later writes remain in the write-ahead log, or an error is logged.
            #expect(home.databaseIsOneFile)
            #expect(!home.exists(home.paths.socket))
            #expect(home.log.troubles == [])
            let entries = try await journal(home)
            #expect(entries.count { $0.decision == .serviceStopping } == 1)
            #expect(!entries.contains { $0.decision == .failed || $0.decision == .restarted })
            try await home.serve { service in
                for id in ids {
                    let task = try await service.waitForEnd(of: id)
                    #expect(task.state == .completed && task.restarts == 0)
                    #expect(try content.firstMismatch(inFileAt: try #require(task.file)) == nil)
                }
            }
            for number in 0..<ids.count { #expect(origin.bodyBytesSent(for: "/\(number)") == content.size) }
        }

        /// If the server stopped first, apps would start the service again.
        @Test func `T10 B1: The service notifies apps of a stop before it closes their connections`() async throws {
            let home = try TestHome()
            try await home.serve { service in
                var commands = try await service.client.events("/v1/process/commands")
                #expect(try await commands.next() == "hello")
                try await service.client.send("POST", "/v1/shutdown")
                var last: String?
                // The stream may also break. Only the event before the end matters.
                while let name = try? await commands.next() { last = name }
                #expect(last == "stopping")
                try await service.waitForEnd()
            }
            #expect(home.log.troubles == [])
        }

        @Test func `B1: A stopping service ends its event streams`() async throws {
            let home = try TestHome()
            try await home.serve { service in
                var events = try await service.client.events("/v1/events")
                // The subscription is active once an event has arrived.
                #expect(try await events.next() != nil)
                try await service.client.send("POST", "/v1/shutdown")
                // The reader does not wait forever, whether the stream breaks or ends.
                while (try? await events.next()) != nil {}
                try await service.waitForEnd()
            }
        }

        @Test func `B1: Transfers that are accepted during a stop exist in the next service`() async throws {
            let home = try TestHome(device: #""power": "external", "idle": false, "network": false"#)
            let accepted = Watched<[TaskID]>([])
            try await home.serve { service in
                try await withThrowingTaskGroup(of: Void.self) { clients in
                    for client in 0..<4 {
                        clients.addTask {
                            let request = TaskRequest.download(
                                "http://host\(client).invalid/file", to: home.directory.path("to"))
                            // This adds transfers until the service has ended.
                            while let id = try? await service.enqueue(request) { accepted.update { $0.append(id) } }
                        }
                    }
                    try await accepted.wait(for: "some tasks") { $0.count >= 20 }
                    try await service.client.send("POST", "/v1/shutdown")
                    try await clients.waitForAll()
                }
                try await service.waitForEnd()
            }
            try await home.serve { service in
                for id in accepted.read({ $0 }) {
                    let task = try await service.task(id)
                    #expect(task.state == .waiting)
                }
            }
        }

        @Test func `B1: Two stop requests cause a single stop`() async throws {
            let home = try TestHome()
            try await home.serve { service in
                async let first = try? service.client.send("POST", "/v1/shutdown")
                async let second = try? service.client.send("POST", "/v1/shutdown")
                _ = await (first, second)
                try await service.waitForEnd()
            }
            #expect(try await journal(home).count { $0.decision == .serviceStopping } == 1)
        }

        @Test func `B1: Cancelling the Swift task of a service ends the service and unlocks its home`() async throws {
            let home = try TestHome()
            let running = Task { try await home.daemon().run() }
            try await eventually("an answer") { (try? await home.client.send("GET", "/v1/status")) != nil }
            running.cancel()
            // This returns whether the service was cancelled or has ended.
            _ = await running.result
            #expect(home.databaseIsOneFile)
            try await home.serve { service in _ = try await service.status() }
        }

        @Test(arguments: [false, true])
        func `B1: A service stops if its home is removed`(isReplaced: Bool) async throws {
            let home = try TestHome()
            try await home.serve { service in
                let root = home.directory.path("home")
                try FileManager.default.moveItem(atPath: root, toPath: home.directory.path("elsewhere"))
                if isReplaced {
                    try FileManager.default.createDirectory(at: home.paths.state, withIntermediateDirectories: true)
                }
                try await service.waitForEnd()
            }
            #expect(home.log.troubles.contains { $0.contains("The home of the service was removed") })
        }

        @Test(arguments: [false, true])
        func `B1: A service stops if its database is removed or replaced`(isReplaced: Bool) async throws {
            let home = try TestHome()
            try await home.serve { service in
                let database = home.paths.database.path
                if isReplaced {
                    try FileManager.default.copyItem(atPath: database, toPath: database + ".copy")
                    guard rename(database + ".copy", database) == 0 else { throw SystemError("rename \(database)") }
                } else {
                    try FileManager.default.removeItem(atPath: database)
                }
                try await service.waitForEnd()
            }
            #expect(home.log.troubles.contains { $0.contains("The home of the service was removed") })
        }
    }
}
