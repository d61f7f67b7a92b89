import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// B1: a home that others can change is refused, and one that is gone has no service.
@Suite struct HomeTests {
    @Test("B1: a service whose home is removed ends, and says why", arguments: [false, true])
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
        #expect(service.log.contains("The home is gone"), "\(service.log.suffix(1_000))")
    }

    @Test("B1: a home that others may write to is refused with the command that mends it")
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
        // What others can only read is closed.
        chmod(service.paths.state.path, 0o755)
        // The sticky bit leaves to each what is theirs.
        chmod(service.home, 0o1777)
        try await service.start()
        #expect(try mode(service.paths.state.path) == 0o700)
    }

    @Test(
        "B1: a home in somebody else's directory is refused", .enabled(if: Machine.isRoot, "only root can give away"))
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
