import Clock
import Foundation
import Glibc
import NightshiftAPI
import Store
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests that a failed start reports a reason, and leaves a home in which the next start succeeds (mission row B1).
    @Suite struct FailedStartTests {
        /// Returns the error of composing a service.
        private func refusal(_ home: TestHome) async -> DaemonError? {
            do {
                _ = try await home.daemon()
                return nil
            } catch {
                return error as? DaemonError
            }
        }

        /// Returns the error with which a running service ends.
        private func end(_ home: TestHome) async -> (any Error)? {
            do {
                try await home.daemon().run()
                return nil
            } catch {
                return error
            }
        }

        private func serves(_ home: TestHome) async throws {
            let status = try await home.serve { try await $0.status() }
            #expect(status.processID == getpid())
        }

        /// Returns the journal entries about services. It leaves out entries about the device and its networks, which
        /// may change at any moment.
        private func entriesOfServices(_ service: RunningService) async throws -> [JournalEntry] {
            try await service.journal().filter { $0.decision == .serviceStarted || $0.decision == .serviceStopping }
        }

        @Test func `B1: A second service of a home ends with an error and does not affect the first service`()
            async throws
        {
            let home = try TestHome()
            try await home.serve { service in
                let entries = try await entriesOfServices(service)
                #expect(entries.map(\.decision) == [.serviceStarted])
                guard case .alreadyRunning(let process, let place) = await refusal(home) else {
                    Issue.record("it was not refused")
                    return
                }
                #expect(process == getpid() && place == home.paths.state.path)
                #expect(try await entriesOfServices(service) == entries)
                #expect(home.exists(home.paths.socket))
            }
            try await serves(home)
            #expect(DaemonError.alreadyRunning(processID: nil, home: "").exitStatus == 4)
        }

        /// The lock outlives its service like that of a killed service whose child is between fork and exec.
        @Test func `B1: A lock that briefly outlives its service does not prevent the next start`() async throws {
            let home = try TestHome()
            try await serves(home)
            let service = Process()
            service.executableURL = URL(filePath: "/bin/bash")
            service.arguments = [
                "-c", #"exec 9>>"$1"; flock 9; echo $$ >"$1"; sleep 1 & kill -9 $$"#, "service", home.paths.lock.path,
            ]
            try service.run()
            service.waitUntilExit()
            try await serves(home)
        }

        @Test func `B1: A service refuses a damaged database without changing it, and unlocks its home`() async throws {
            let home = try TestHome()
            try await serves(home)
            let good = try Data(contentsOf: home.paths.database)
            let bad = Data(repeating: 0x41, count: 20_000)
            try bad.write(to: home.paths.database)
            #expect(await refusal(home)?.exitStatus == 6)
            #expect(try Data(contentsOf: home.paths.database) == bad)
            #expect(!home.exists(home.paths.socket))
            try good.write(to: home.paths.database)
            try await serves(home)
        }

        @Test func `B1: The service does not recreate a missing database`() async throws {
            let home = try TestHome()
            try await serves(home)
            try FileManager.default.removeItem(at: home.paths.database)
            #expect(await refusal(home)?.exitStatus == 6)
            #expect(!home.exists(home.paths.database))
        }

        @Test(arguments: [#"{"at": 0, "device": {"power": "steam"}}"#, "no trace at all"])
        func `B1: A service refuses an invalid configuration, and starts after its correction`(
            trace: String
        ) async throws {
            let home = try TestHome()
            let path = try #require(home.environment["NIGHTSHIFT_DEVICE_TRACE"])
            let good = try Data(contentsOf: URL(filePath: path))
            try home.directory.write(trace, to: "trace")
            let error = try #require(await refusal(home))
            #expect(error.exitStatus == 2 && "\(error)".contains("NIGHTSHIFT_DEVICE_TRACE"), "\(error)")
            try good.write(to: URL(filePath: path))
            try await serves(home)
        }

        @Test func `B1: A start without a usable socket fails and keeps the existing file`() async throws {
            let home = try TestHome()
            try await serves(home)
            try Data("mine".utf8).write(to: home.paths.socket)
            let error = try #require(await end(home))
            #expect("\(error)".contains("is not a socket"), "\(error)")
            #expect(try Data(contentsOf: home.paths.socket) == Data("mine".utf8))
            // The parts that were already running have stopped in order, so the database is a single file again.
            #expect(home.databaseIsOneFile)
            try FileManager.default.removeItem(at: home.paths.socket)
            try await serves(home)
        }

        @Test func `B1: A service that cannot read its state stops before clients can connect`() async throws {
            let home = try TestHome()
            try await serves(home)
            let kept = try Data(contentsOf: home.paths.database)
            let change = try await ChildProcess.run("sqlite3", [home.paths.database.path, "DROP TABLE device"])
            try #require(change.code == 0, "\(change.errors)")
            let error = try #require(await end(home) as? DaemonError)
            #expect(error.exitStatus == 6)
            #expect(!home.exists(home.paths.socket))
            try kept.write(to: home.paths.database)
            try await serves(home)
        }

        @Test func `B1: An invalid stored state of doze does not prevent the start`() async throws {
            let home = try TestHome()
            try await serves(home)
            let store = try Store(paths: home.paths, now: SystemClock().now())
            try await store.write { try $0.put(doze: ["unheard": "of"]) }
            try store.close()
            try await serves(home)
        }

        @Test func `B1: The error about a folder that others can write to contains the command that fixes it`()
            async throws
        {
            let home = try TestHome()
            try await serves(home)
            chmod(home.paths.state.path, 0o777)
            let error = try #require(await refusal(home))
            #expect(error.exitStatus == 5 && "\(error)".contains("chmod"), "\(error)")
            chmod(home.paths.state.path, 0o755)
            try await serves(home)
            let mode =
                try FileManager.default.attributesOfItem(atPath: home.paths.state.path)[.posixPermissions] as? Int
            #expect(mode == 0o700, "one that others could only read is closed")
        }

        @Test func `B1: The service reports a file that occupies the path of a required folder`() async throws {
            let home = try TestHome()
            try FileManager.default.createDirectory(
                atPath: home.directory.path("home"), withIntermediateDirectories: true)
            try home.directory.write("", to: "home/state")
            let error = try #require(await refusal(home))
            #expect(error.exitStatus == 5 && "\(error)".contains(home.paths.state.path), "\(error)")
            // The lock is in that folder, so a later service cannot find it locked.
            try FileManager.default.removeItem(atPath: home.directory.path("home/state"))
            #expect(await refusal(home) == nil)
        }
    }
}
