import Apps
import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests with processes that run all the time: one after the other, so that they leave each other the processors.
@Suite(.serialized, .timeLimit(.minutes(20))) enum ProcessTests {}

/// A host with a home of its own, and what it has said of the processes that ended.
final class Scene: Sendable {
    let scratch: TemporaryDirectory
    let paths: ServicePaths
    let host: SystemProcessHost
    let ends = Watched<[ProcessIdentity: ProcessEnd]>([:])
    private let launched = Watched<[ProcessIdentity]>([])

    static let environment = ["PATH": "/usr/bin:/bin", "LANG": "C"]

    init(_ suspension: SystemProcessHost.Suspension = .automatic, scratch: TemporaryDirectory? = nil) throws {
        let scratch = try scratch ?? TemporaryDirectory()
        self.scratch = scratch
        paths = ServicePaths(environment: ["NIGHTSHIFT_HOME": scratch.path], homeDirectory: URL(filePath: "/"))
        host = SystemProcessHost(paths: paths, bootID: ProcessIdentity.currentBootID, suspension: suspension)
        Task { [host, ends] in
            for await (process, end) in host.exits { ends.update { $0[process] = end } }
        }
    }

    /// Kills what was launched, waits for it, and shuts the host down. Every test ends with it.
    func end() {
        let processes = launched.read { $0 }
        for process in processes { host.kill(process) }
        _ = ends.block { ends in processes.allSatisfy { ends[$0] != nil } }
        // What they had started is still ending; the last one of each cgroup takes it along.
        try? blockUntil("the cgroups to go") { controlGroups.isEmpty }
        host.shutdown()
    }

    /// Removes the cgroups of a host whose processes have ended without it, as the next host of its home does.
    static func clean(_ scratch: TemporaryDirectory) async throws {
        try await eventually("the cgroups to go") {
            let next = try Scene(scratch: scratch)
            defer { next.host.shutdown() }
            return next.controlGroups.isEmpty
        }
    }

    /// Names of the cgroups of apps.
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

    /// Whether processes can be suspended by cgroups here.
    static let hasControlGroups: Bool = {
        guard let scene = try? Scene() else { return false }
        defer { scene.end() }
        return scene.host.name.hasPrefix("cgroup")
    }()
}

/// What `/proc` says, read anew by the tests.
enum Proc {
    /// The fields of `/proc/PID/stat` behind the name: the third of the manual is the first here.
    static func fields(_ pid: pid_t) -> [Substring]? { ProcessStat(pid)?.fields }

    /// Clock ticks that a process has run.
    static func ticks(_ pid: pid_t) -> Int { ProcessStat(pid)?.ticks ?? 0 }

    /// Ids of everything in the session that `leader` leads.
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

    /// Where the process is in the tree of cgroups v2.
    static func controlGroup(_ pid: pid_t) -> String? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8)
        return text?.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }
}

/// A process that runs all the time.
let busy = "while :; do :; done"
