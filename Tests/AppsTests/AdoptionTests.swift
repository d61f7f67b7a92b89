import Apps
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of a restarted service, which takes over processes that still run (mission row T11; issue 3, "Processes").
    @Suite struct AdoptionTests {
        /// Returns a process that is not a child of this one, as after a restart of the service.
        private func orphan(_ scene: Scene) async throws -> ProcessIdentity {
            let file = scene.scratch.path("orphan")
            let outcome = try await ChildProcess.run("sh", ["-c", "setsid sleep 600 & echo $! > '\(file)'"])
            #expect(outcome.code == 0)
            let text = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
            let pid = try #require(pid_t(text))
            try await eventually("its session") { Proc.fields(pid)?[3] == "\(pid)"[...] }
            return try #require(ProcessIdentity.of(pid, bootID: ProcessIdentity.currentBootID))
        }

        @Test func `T11: The service reports the end of an adopted process with an unknown status`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let process = try await orphan(scene)
            #expect(scene.host.adopt(process))
            #expect(scene.host.adopt(process), "again")
            #expect(scene.host.suspend(process) && scene.host.resume(process))
            scene.host.terminate(process)
            #expect(try await scene.end(of: process) == .unknown)
            #expect(!scene.host.adopt(process) && !process.isAlive)
        }

        @Test func `T11: The service does not adopt a process with a reused pid or of another boot`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let process = try await orphan(scene)
            defer { kill(process.pid, SIGKILL) }
            let reused = ProcessIdentity(
                pid: process.pid, startTime: process.startTime - 1, bootID: process.bootID)
            let earlier = ProcessIdentity(pid: process.pid, startTime: process.startTime, bootID: "another boot")
            for stranger in [reused, earlier] {
                #expect(!stranger.isAlive)
                #expect(!scene.host.adopt(stranger))
                #expect(!scene.host.suspend(stranger) && !scene.host.resume(stranger))
                scene.host.terminate(stranger)
                scene.host.kill(stranger)
            }
            #expect(process.isAlive)
            #expect(ProcessIdentity.of(1 << 29, bootID: process.bootID) == nil)
        }

        @Test func `T11: The service resumes a stopped process when it adopts the process`() async throws {
            let scene = try Scene(.signals)
            defer { scene.end() }
            let process = try await orphan(scene)
            defer { kill(process.pid, SIGKILL) }
            #expect(kill(process.pid, SIGSTOP) == 0)
            try await eventually("it to stop") { Proc.fields(process.pid)?[0] == "T" }
            #expect(scene.host.adopt(process))
            try await eventually("it to run") { Proc.fields(process.pid)?[0] != "T" }
        }
    }
}
