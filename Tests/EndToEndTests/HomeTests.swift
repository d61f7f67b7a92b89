import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that a service refuses a home that others can change, and ends when its home is removed (mission row B1).
@Suite struct HomeTests {
    @Test("B1: A service whose home is removed ends and says why", arguments: [false, true])
    func removed(isMoved: Bool) async throws {
        let service = try Service()
        try await service.start()
        if isMoved {
            try FileManager.default.moveItem(atPath: service.home, toPath: service.scratch.path("elsewhere"))
        } else {
            try FileManager.default.removeItem(atPath: service.home)
        }
        let process = try #require(service.process)
        try await eventually("the end of a service without a home", within: .seconds(30)) { process.exit != nil }
        #expect(service.log.contains("The home of the service was removed"), "\(service.log.suffix(1_000))")
    }

    /// Simulates a log-out and log-in: the system removes the runtime directory and creates another.
    @Test(arguments: [false, true])
    func `B1: A service whose runtime directory was removed opens its socket in the new directory`(
        isLong: Bool
    ) async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        try await service.start()
        let process = try #require(service.process)
        let content = Content.seeded(size: 1 << 20, seed: 3)
        origin.serve("/f", Resource(content: content, behaviours: [.holdAfter(500_000, gate)]))
        let id = try await service.api.enqueue(.download(origin.url("/f"), to: service.scratch.path, named: "f"))
        try await service.wait(id, for: "bytes") { $0.countOfBytesReceived > 0 }
        let runtime = service.paths.runtime.path
        let elsewhere = service.scratch.path("elsewhere")
        if isLong {
            // The service is stopped, so that it cannot create another directory in between.
            try await process.halt()
            try FileManager.default.moveItem(atPath: runtime, toPath: elsewhere)
            try "no directory".write(toFile: runtime, atomically: true, encoding: .utf8)
            process.kill(SIGCONT)
            try await eventually("word that it is gone") { service.log.contains("a new one cannot be created yet") }
            try FileManager.default.removeItem(atPath: runtime)
        } else {
            try FileManager.default.moveItem(atPath: runtime, toPath: elsewhere)
        }
        let list = try await service.cli(["list"])
        #expect(list.code == 0 && list.output.contains("running"), "\(list)")
        gate.open()
        #expect(try await service.waitForEnd(id).state == .completed)
        #expect(process.exit == nil)
        #expect(try await service.cli(["service", "stop"]).code == 0)
        try await eventually("the end of the first service") { process.exit != nil }
    }

    @Test("B1: The service refuses a home that others may write to, and names the repair command")
    func writable() async throws {
        let service = try Service()
        try await service.start()
        try await service.stop()
        for path in [service.paths.state.path, service.paths.runtime.path, service.home] {
            chmod(path, 0o777)
            let refused = try await ChildProcess.run(
                Programs.daemon, environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(20))
            #expect(refused.code == 5, "\(path)")
            #expect(refused.errors.contains(path) && refused.errors.contains("chmod"), "\(refused.errors)")
            chmod(path, 0o700)
        }
        // The service makes directories private that others can only read.
        chmod(service.paths.state.path, 0o755)
        // With the sticky bit, others cannot replace the user's files.
        chmod(service.home, 0o1777)
        try await service.start()
        #expect(try mode(service.paths.state.path) == 0o700)
    }

    @Test(
        "B1: The service refuses a home in another user's directory",
        .enabled(if: Machine.isRoot, "only root can give away"))
    func foreign() async throws {
        let service = try Service()
        try await service.start()
        try await service.stop()
        for path in [service.home, service.paths.state.path] {
            chown(path, 12_345, 12_345)
            let refused = try await ChildProcess.run(
                Programs.daemon, environment: ["NIGHTSHIFT_HOME": service.home], within: .seconds(20))
            #expect(refused.code == 5)
            #expect(refused.errors.contains("12345"), "\(refused.errors)")
            chown(path, 0, 0)
        }
        try await service.start()
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return attributes[.posixPermissions] as? Int ?? -1
    }
}
