import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

@testable import Apps

extension ProcessTests {
    /// Tests with frozen processes of a service that was killed together with its guardian.
    @Suite struct ThawTests {
        /// The mount point of cgroups v2; nil if this process cannot create cgroups.
        static let mount: String? = {
            let lines = (try? String(contentsOfFile: "/proc/mounts", encoding: .utf8))?.split(separator: "\n") ?? []
            let mount = lines.map { $0.split(separator: " ") }.first { $0.count > 2 && $0[2] == "cgroup2" }?[1]
            return mount.map(String.init).flatMap { access("\($0)/cgroup.procs", W_OK) == 0 ? $0 : nil }
        }()

        @Test(.enabled(if: mount != nil, "No cgroup v2 can be made here."))
        func `T11: A service thaws processes that an earlier run froze elsewhere in the cgroup tree`() async throws {
            let mount = try #require(Self.mount)
            let scratch = try TemporaryDirectory()
            let paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": scratch.path], homeDirectory: URL(filePath: "/"))
            for path in [paths.state, paths.runtime, paths.apps] {
                try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            }
            let elsewhere = "\(mount)/elsewhere-\(UInt64.random(in: 0...UInt64.max))"
            let service = elsewhere + "/nightshift-" + AppID.tag(of: paths.state.path(percentEncoded: false))
            let app = service + "/app-x"
            for folder in [elsewhere, service, app] { try #require(mkdir(folder, 0o755) == 0) }
            let child = try ChildProcess("sleep", arguments: ["600"])
            defer {
                kill(child.pid, SIGKILL)
                _ = child.blockUntilExit(within: .seconds(20))
                for folder in [app, service, elsewhere] { rmdir(folder) }
            }
            let group = ControlGroup(path: app)
            try Data("\(child.pid)".utf8).write(to: URL(filePath: app + "/cgroup.procs"))
            try #require(group.freeze() && group.waitUntilFrozen(within: .seconds(20)))
            let host = SystemProcessHost(paths: paths, bootID: ProcessIdentity.currentBootID)
            defer { host.shutdown() }
            let freeze = try String(contentsOfFile: group.freezeFile, encoding: .utf8)
            #expect(freeze == "0\n")
        }
    }
}
