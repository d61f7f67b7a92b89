import Foundation
import Glibc
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import Apps

/// Stands for the systemd user manager: starts the program of a unit as a process that is no child of this one, in a cgroup
/// with the unit's name.
private final class ScriptedManager: Sendable {
    let root: String
    let started = Mutex<[String]>([])
    let removed = Watched<[String]>([])
    let gathered = Watched<[Int32]>([])
    /// The answers about the end of a unit, in order; the last one stays.
    let ends = Mutex<[ProcessEnd?]>([.exited(7)])

    init?() {
        guard let mount = ProcessTests.ThawTests.mount else { return nil }
        root = "\(mount)/app.slice-\(UInt64.random(in: 0...UInt64.max))"
        guard mkdir(root, 0o755) == 0 else { return nil }
    }

    deinit {
        for name in started.withLock({ $0 }) { rmdir("\(root)/\(name)") }
        rmdir(root)
    }

    var units: AppUnits {
        AppUnits(
            start: { [self] name, _, arguments, input in
                let group = "\(root)/\(name)"
                guard mkdir(group, 0o755) == 0 else { return "mkdir failed" }
                started.withLock { $0.append(name) }
                let words =
                    ["-c", #"echo $$ >"$1/cgroup.procs"; shift; exec setsid -f "$@""#, "sh", group]
                    + [Programs.processHostProbe] + arguments
                // The process itself is a child of init.
                let starting = try? ChildProcess("/bin/sh", arguments: words, input: input, diesWithParent: false)
                guard starting?.blockUntilExit(within: .seconds(20)) == .code(0) else { return "it did not start" }
                return nil
            },
            end: { [self] _ in ends.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } },
            remove: { [self] name in removed.update { $0.append(name) } }, ended: { _ in [] },
            gather: { [self] _, process in gathered.update { $0.append(process) } })
    }
}

extension ProcessTests {
    /// Tests of apps in units of systemd (decision 0073).
    @Suite(.enabled(if: ProcessTests.ThawTests.mount != nil, "No cgroup v2 can be made here.")) struct AppUnitsTests {
        @Test func `L1: An app in a unit gets the attributes of its launch plan, and systemd's report of its end`()
            async throws
        {
            let manager = try #require(ScriptedManager())
            manager.ends.withLock { $0 = [nil, nil, .exited(7)] }
            let scene = try Scene(units: manager.units)
            defer { scene.host.shutdown() }
            var plan = scene.plan("sh", ["-c", #"echo "$WORD $(pwd) $(umask) $#"; sleep 0.1 & exit 7"#, "a b", ""])
            plan.environment["WORD"] = String(repeating: "x", count: 100_000)
            plan.directory = "/usr"
            plan.fileCreationMask = 0o027
            let process = try scene.host.launch(plan)
            let name = try #require(manager.started.withLock { $0.first })
            #expect(AppUnits.isUnit(name, home: scene.host.home))
            #expect(scene.host.groups?.group(ofProcess: process.pid)?.unit == name)
            try scene.host.begin(process)
            try await eventually("the end") { scene.ends.read { $0[process] == .exited(7) } }
            let log = try String(contentsOfFile: plan.log, encoding: .utf8)
            #expect(log.hasSuffix("x /usr 0027 1\n"), "\(log.suffix(40))")
            #expect(manager.gathered.read(\.count) == 1, "The log keeper leaves the unit of the service.")
            // The unit is removed after its last process has ended.
            try await eventually("the removal") { manager.removed.read { $0 == [name] } }
        }

        @Test func `L1: An app in a unit is frozen with its cgroup, and killed with the processes that it has started`()
            async throws
        {
            let manager = try #require(ScriptedManager())
            let scene = try Scene(units: manager.units)
            defer { scene.host.shutdown() }
            let process = try scene.launchShell("sleep 600 & sleep 600")
            let group = try #require(scene.host.groups?.group(ofProcess: process.pid))
            try await eventually("the processes") { group.processes.count == 3 }
            #expect(scene.host.suspend(process))
            #expect(group.waitUntilFrozen(within: .seconds(20)))
            #expect(scene.host.resume(process))
            scene.host.kill(process)
            try await eventually("the end") { scene.ends.read { $0[process] != nil } }
            try await eventually("the removal") { !manager.removed.read(\.isEmpty) }
        }

        @Test func `L1: A program that cannot be executed in a unit is reported, and its unit is removed`() async throws
        {
            let manager = try #require(ScriptedManager())
            let scene = try Scene(units: manager.units)
            defer { scene.host.shutdown() }
            let file = scene.scratch.path("bad")
            try Data("#!/nonexistent/interpreter\n".utf8).write(to: URL(filePath: file))
            chmod(file, 0o755)
            let process = try scene.host.launch(scene.plan(file))
            #expect(throws: LaunchFailure.self) { try scene.host.begin(process) }
            try await eventually("the removal") { manager.removed.read { $0.count == 1 } }
            var plan = scene.plan("true")
            plan.directory = "/nonexistent"
            #expect(throws: LaunchFailure.self) { _ = try scene.host.launch(plan) }
        }

        @Test func `L1: A refusal by systemd is a failure that may pass`() throws {
            let units = AppUnits(
                start: { _, _, _, _ in "there was no answer" }, end: { _ in nil }, remove: { _ in }, ended: { _ in [] })
            let scene = try Scene(units: units)
            defer { scene.host.shutdown() }
            let failure = #expect(throws: LaunchFailure.self) { _ = try scene.host.launch(scene.plan("true")) }
            #expect(failure?.isPermanent == false)
            #expect(failure?.message.contains("there was no answer") == true)
        }

        @Test func `L1: Units of ended programs are removed when the service starts`() async throws {
            let removed = Watched<[String]>([])
            let units = AppUnits(
                start: { _, _, _, _ in nil }, end: { _ in nil }, remove: { name in removed.update { $0.append(name) } },
                ended: { pattern in [pattern] })
            let scene = try Scene(units: units)
            defer { scene.host.shutdown() }
            try await eventually("the removal") { removed.read { $0 == [AppUnits.pattern(home: scene.host.home)] } }
        }
    }
}

struct AppUnitNameTests {
    @Test func `The name of a unit tells the app and the home, and fits into 255 bytes`() {
        let name = AppUnits.name(of: AppID(rawValue: "org.example.my-app"), home: "/home/ada")
        #expect(name.hasPrefix("app-nightshift-org.example.my\\x2dapp@"))
        #expect(AppUnits.isUnit(name) && AppUnits.isUnit(name, home: "/home/ada"))
        #expect(!AppUnits.isUnit(name, home: "/home/eve"))
        let long = AppUnits.name(of: AppID(rawValue: String(repeating: "-", count: 200)), home: "/")
        #expect(long.utf8.count <= 255 && AppUnits.isUnit(long))
        #expect(name != AppUnits.name(of: AppID(rawValue: "org.example.my-app"), home: "/home/ada"))
    }

    @Test(arguments: [
        "app-gnome-org.example.App@0123456789abcdef-1.service", "app-nightshift-x@0123.service",
        "app-nightshift-x@0123456789abcdef-1.scope", "app-nightshift-x.service", "nightshiftd.service",
    ])
    func `Units of others are not taken for units of apps`(_ name: String) {
        #expect(!AppUnits.isUnit(name))
    }
}
