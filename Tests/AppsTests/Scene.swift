import Apps
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests with processes that use the CPU continuously. The tests run one after the other so that they do not compete.
@Suite(.serialized, .timeLimit(.minutes(20))) enum ProcessTests {}

/// A process host with its own home, and the ends of processes that the host has reported.
final class Scene: Sendable {
    let scratch: TemporaryDirectory
    let paths: ServicePaths
    let host: SystemProcessHost
    let ends = Watched<[ProcessIdentity: ProcessEnd]>([:])
    private let launched = Watched<[ProcessIdentity]>([])

    static let environment = ["PATH": "/usr/bin:/bin", "LANG": "C"]

    init(
        _ suspension: SystemProcessHost.Suspension = .automatic, scratch: TemporaryDirectory? = nil,
        units: AppUnits? = nil
    ) throws {
        let scratch = try scratch ?? TemporaryDirectory()
        self.scratch = scratch
        paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": scratch.path], homeDirectory: URL(filePath: "/"))
        host = SystemProcessHost(
            paths: paths, bootID: ProcessIdentity.currentBootID, suspension: suspension, units: units)
        Task { [host, ends] in
            for await (process, end) in host.exits { ends.update { $0[process] = end } }
        }
    }

    /// Kills all launched processes, waits for them, and shuts the host down. Every test must call it last.
    func end() {
        let processes = launched.read { $0 }
        for process in processes { host.kill(process) }
        _ = ends.block { ends in processes.allSatisfy { ends[$0] != nil } }
        // Their children may still be ending. Each cgroup is removed with its last process.
        try? blockUntil("the cgroups to go") { controlGroups.isEmpty }
        host.shutdown()
    }

    /// Removes the cgroups of a host whose processes outlived it, as the next host of its home does.
    static func clean(_ scratch: TemporaryDirectory) async throws {
        try await eventually("the cgroups to go") {
            let next = try Scene(scratch: scratch)
            defer { next.host.shutdown() }
            return next.controlGroups.isEmpty
        }
    }

    /// The names of the apps' cgroups.
    var controlGroups: [String] {
        guard host.name.hasPrefix("cgroup"), let root = host.name.split(separator: " ").last else { return [] }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: String(root))) ?? []
        return names.filter { $0.hasPrefix("app-") }
    }

    func plan(_ program: String, _ arguments: [String] = [], app: String = "org.example.App") -> LaunchPlan {
        LaunchPlan(
            app: AppID(rawValue: app), program: program, arguments: arguments, environment: Self.environment,
            directory: scratch.path, log: scratch.path("logs/\(app.split(separator: "/").joined().prefix(100)).log"))
    }

    func launch(_ plan: LaunchPlan) throws(LaunchFailure) -> ProcessIdentity {
        let process = try host.launch(plan)
        try host.begin(process)
        launched.update { $0.append(process) }
        return process
    }

    func launchShell(_ script: String, app: String = "org.example.App") throws(LaunchFailure) -> ProcessIdentity {
        try launch(plan("sh", ["-c", script], app: app))
    }

    func end(of process: ProcessIdentity) async throws -> ProcessEnd? {
        try await ends.wait(for: "the end of \(process)") { $0[process] != nil }
        return ends.read { $0[process] }
    }

    /// Whether cgroups can suspend processes on this machine.
    static let hasControlGroups: Bool = {
        guard let scene = try? Scene() else { return false }
        defer { scene.end() }
        return scene.host.name.hasPrefix("cgroup")
    }()
}

/// Readings from `/proc`, implemented independently for the tests.
enum Proc {
    /// The fields of `/proc/PID/stat` after the name: index 0 is the third field of the manual page.
    static func fields(_ pid: pid_t) -> [Substring]? { ProcessStat(pid)?.fields }

    /// The CPU time of a process in clock ticks.
    static func ticks(_ pid: pid_t) -> Int { ProcessStat(pid)?.ticks ?? 0 }

    /// The pids of all processes in the session of `leader`.
    static func members(ofSession leader: pid_t) -> Set<pid_t> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return Set(
            names.compactMap { pid_t($0) }.filter { pid in
                guard let fields = fields(pid) else { return false }
                return fields[3] == "\(leader)" && fields[0] != "Z"
            })
    }

    static func isThere(_ pid: pid_t) -> Bool { fields(pid) != nil }

    static func isRunning(_ pid: pid_t) -> Bool {
        guard let state = fields(pid)?[0] else { return false }
        return state != "Z" && state != "X"
    }

    static func status(_ pid: pid_t, _ key: String) -> String? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        return text?.split(separator: "\n").first { $0.hasPrefix(key + ":") }.map {
            $0.dropFirst(key.count + 1).trimmingCharacters(in: .whitespaces)
        }
    }

    /// The cgroup (v2) of the process.
    static func controlGroup(_ pid: pid_t) -> String? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8)
        return text?.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }
}

/// A program that uses the CPU continuously.
let busy = "while :; do :; done"
