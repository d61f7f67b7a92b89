import Apps
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of both methods of suspension (mission rows T10, T11; issue 3, "Processes").
    @Suite struct SuspensionTests {
        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `A process does not run while it is suspended, and runs again when it is resumed`(
            suspension: SystemProcessHost.Suspension
        )
            async throws
        {
            let (scene, other) = (try Scene(suspension), try BusyProcess())
            defer { scene.end() }
            let process = try scene.launchShell(busy)
            try await eventually("it to run") { Proc.ticks(process.pid) > 2 }
            #expect(scene.host.suspend(process))
            let ticks = Proc.ticks(process.pid)
            try await other.run(ticks: 30)
            #expect(Proc.ticks(process.pid) == ticks)
            #expect(process.isAlive)
            #expect(scene.host.suspend(process), "again")
            #expect(scene.host.resume(process))
            try await eventually("it to run again") { Proc.ticks(process.pid) > ticks + 2 }
            #expect(scene.host.resume(process), "again")
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The service suspends a process that forks continuously together with all its forks`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let (scene, other) = (try Scene(suspension), try BusyProcess())
            defer { scene.end() }
            let process = try scene.launchShell(
                "for i in 1 2 3; do (while :; do (:); done) & done; while :; do (:); done")
            let started = { Proc.members(ofSession: process.pid) }
            try await eventually("its forks") { started().count > 3 }
            for _ in 0..<20 {
                #expect(scene.host.suspend(process))
                // A process that is forking in the kernel when its group is stopped still creates its child, and the
                // child is stopped from the start. A process that is exiting still exits.
                var members: Set<pid_t> = []
                try await eventually("forks under way to be over") {
                    members = started()
                    // A process that is forking is in state R or D. The test therefore reads the list again after the
                    // last process has left these states.
                    let areOver = members.allSatisfy { !["R", "D"].contains(Proc.fields($0)?[0]) }
                    return areOver && started() == members
                }
                let (ticks, leader) = (members.map(Proc.ticks).reduce(0, +), Proc.ticks(process.pid))
                try await other.run(ticks: 5)
                #expect(started() == members)
                #expect(members.map(Proc.ticks).reduce(0, +) == ticks)
                #expect(scene.host.resume(process))
                // Reading the list of processes takes too long to find those that live briefly, so CPU time is used
                // instead.
                try await eventually("it to fork again") { Proc.ticks(process.pid) > leader }
            }
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The service suspends a process that waits for its child's exec together with the child`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            // Between vfork and exec the child opens a pipe without a writer, while its parent waits in the kernel.
            let program = """
                import os
                opening = (os.POSIX_SPAWN_OPEN, 0, "pipe", os.O_RDONLY, 0)
                os.posix_spawn("/bin/true", ["true"], {}, file_actions=[opening])
                open("spawned", "w").close()
                while True: pass
                """
            #expect(mkfifo(scene.scratch.path("pipe"), 0o600) == 0)
            let process = try scene.launch(scene.plan("python3", ["-c", program]))
            for _ in 0..<3 {
                try await eventually("it to wait for its child") { Proc.fields(process.pid)?[0] == "D" }
                #expect(scene.host.suspend(process))
                #expect(scene.host.resume(process))
            }
            let writer = open(scene.scratch.path("pipe"), O_RDWR | O_CLOEXEC)
            defer { close(writer) }
            try await eventually("it to go on") {
                FileManager.default.fileExists(atPath: scene.scratch.path("spawned"))
            }
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `A process survives a thousand suspensions`(suspension: SystemProcessHost.Suspension)
            async throws
        {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let process = try scene.launchShell("(\(busy)) & \(busy)")
            try await eventually("both to run") { Proc.members(ofSession: process.pid).count == 2 }
            for cycle in 1...1_000 {
                try #require(scene.host.suspend(process), "cycle \(cycle)")
                try #require(scene.host.resume(process), "cycle \(cycle)")
                guard cycle % 100 == 0 else { continue }
                for member in Proc.members(ofSession: process.pid) {
                    let ticks = Proc.ticks(member)
                    try await eventually("\(member) to run after \(cycle) cycles") { Proc.ticks(member) > ticks }
                }
            }
            #expect(scene.ends.read { $0.isEmpty })
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `After concurrent calls from many threads the last call decides the state`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let processes = try (0..<4).map { try scene.launchShell(busy, app: "app\($0)") }
            await withTaskGroup(of: Void.self) { group in
                for process in processes {
                    for _ in 0..<2 {
                        group.addTask {
                            for _ in 0..<50 {
                                _ = scene.host.suspend(process)
                                _ = scene.host.resume(process)
                            }
                        }
                    }
                }
            }
            for process in processes {
                #expect(scene.host.resume(process))
                let ticks = Proc.ticks(process.pid)
                try await eventually("it to run") { Proc.ticks(process.pid) > ticks }
            }
            #expect(scene.host.guardian == nil)
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `A suspended process dies at once when the service or another process kills it`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let ours = try scene.launchShell(busy)
            #expect(scene.host.suspend(ours))
            scene.host.kill(ours)
            #expect(try await scene.end(of: ours) == .signalled(SIGKILL))
            let others = try scene.launchShell(busy)
            #expect(scene.host.suspend(others))
            #expect(kill(others.pid, SIGKILL) == 0)
            #expect(try await scene.end(of: others) == .signalled(SIGKILL))
            try await eventually("the guardian to go") { scene.host.guardian == nil }
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `A suspended process receives SIGTERM`(suspension: SystemProcessHost.Suspension) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let process = try scene.launchShell("trap 'exit 7' TERM; echo ready; \(busy)")
            try await eventually("the trap") {
                try String(contentsOfFile: scene.plan("sh").log, encoding: .utf8) == "ready\n"
            }
            #expect(scene.host.suspend(process))
            scene.host.terminate(process)
            #expect(try await scene.end(of: process) == .exited(7))
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The children of a killed process do not stay suspended`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let process = try scene.launchShell("(\(busy)) & \(busy)")
            try await eventually("both to run") { Proc.members(ofSession: process.pid).count == 2 }
            let child = try #require(Proc.members(ofSession: process.pid).subtracting([process.pid]).first)
            defer { kill(child, SIGKILL) }
            #expect(scene.host.suspend(process))
            kill(process.pid, SIGKILL)
            #expect(try await scene.end(of: process) == .signalled(SIGKILL))
            let ticks = Proc.ticks(child)
            try await eventually("the child to run") { Proc.ticks(child) > ticks }
            kill(child, SIGKILL)
            try await eventually("the cgroup to go with the last one") { scene.controlGroups.isEmpty }
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The service resumes all processes at shutdown, and suspends none afterwards`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            let process = try scene.launchShell(busy)
            defer { kill(process.pid, SIGKILL) }
            #expect(scene.host.suspend(process))
            let guardian = try #require(scene.host.guardian)
            scene.host.shutdown()
            #expect(!Proc.isThere(guardian), "waited for")
            let ticks = Proc.ticks(process.pid)
            try await eventually("it to run") { Proc.ticks(process.pid) > ticks }
            #expect(!scene.host.suspend(process))
            #expect(throws: LaunchFailure.self) { try scene.host.launch(scene.plan("sleep", ["600"])) }
            kill(process.pid, SIGKILL)
            waitpid(process.pid, nil, 0)
            try await Scene.clean(scene.scratch)
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The service suspends two processes of one app separately`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let scene = try Scene(suspension)
            defer { scene.end() }
            let first = try scene.launchShell(busy)
            #expect(scene.host.suspend(first))
            let second = try scene.launchShell(busy)
            try await eventually("the second to run") { Proc.ticks(second.pid) > 2 }
            let ticks = Proc.ticks(first.pid)
            #expect(scene.host.suspend(second) && scene.host.resume(second))
            try await eventually("the second to run again") { Proc.ticks(second.pid) > 10 }
            #expect(Proc.ticks(first.pid) == ticks)
        }

        @Test(.enabled(if: Scene.hasControlGroups, "needs a cgroup v2 that may be written"))
        func `The service needs one descriptor per app for all processes that the app left running`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            var left: Set<pid_t> = []
            defer { for process in left { kill(process, SIGKILL) } }
            for _ in 0..<3 {
                let process = try scene.launchShell("sleep 600 > /dev/null 2>&1 &")
                #expect(try await scene.end(of: process) == .exited(0))
                left.formUnion(Proc.members(ofSession: process.pid))
            }
            #expect(left.count == 3)
            let root = String(try #require(scene.host.name.split(separator: " ").last))
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            #expect(open.count { $0.hasPrefix(root) && $0.hasSuffix("/cgroup.events") } == 1)
        }

        @Test(.enabled(if: Scene.hasControlGroups, "needs a cgroup v2 that may be written"))
        func `Each app has a cgroup, which the service removes with the app's last process`() async throws {
            let scene = try Scene()
            let root = try #require(scene.host.name.split(separator: " ").last.map(String.init))
            do {
                defer { scene.end() }
                let process = try scene.launchShell("exec sleep 600", app: "org.example.App")
                #expect(Proc.controlGroup(process.pid)?.hasSuffix("/app-org.example.App") == true)
                #expect(FileManager.default.fileExists(atPath: "\(root)/app-org.example.App"))
                scene.host.kill(process)
                _ = try await scene.end(of: process)
                #expect(!FileManager.default.fileExists(atPath: "\(root)/app-org.example.App"))
                // These names are invalid as file names, or too long for one.
                let odd = try ["/usr/bin/a b", "ä:\n", String(repeating: "x", count: 300), "..", "~"].map {
                    try scene.launchShell("exec sleep 600", app: $0)
                }
                let places = odd.compactMap { Proc.controlGroup($0.pid) }
                #expect(Set(places).count == 5 && places.allSatisfy { $0.contains("/app-") }, "\(places)")
            }
            #expect(!FileManager.default.fileExists(atPath: root))
        }

        @Test(.enabled(if: Scene.hasControlGroups, "needs a cgroup v2 that may be written"))
        func `A cgroup also suspends and kills processes that have left the process group`() async throws {
            let (scene, other) = (try Scene(), try BusyProcess())
            defer { scene.end() }
            let process = try scene.launchShell("setsid sh -c '\(busy)' & echo $!; \(busy)")
            var escaped: pid_t = 0
            try await eventually("the one that leaves") {
                let log = try String(contentsOfFile: scene.plan("sh").log, encoding: .utf8)
                escaped = pid_t(log.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
                return escaped > 0 && Proc.fields(escaped)?[3] == "\(escaped)"
            }
            #expect(scene.host.suspend(process))
            let ticks = Proc.ticks(escaped)
            try await other.run(ticks: 30)
            #expect(Proc.ticks(escaped) == ticks)
            scene.host.kill(process)
            _ = try await scene.end(of: process)
            try await eventually("the end of all") { !Proc.isRunning(escaped) }
        }
    }
}
