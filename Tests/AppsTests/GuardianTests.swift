import Apps
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of the guardian, which thaws all processes when the service dies (mission rows T10, T11; issue 3,
    /// "Processes").
    @Suite struct GuardianTests {
        private let scratch: TemporaryDirectory

        init() throws {
            scratch = try TemporaryDirectory()
        }

        /// A small service in a process of its own, with two frozen processes.
        private struct Probe {
            let process: ChildProcess
            let frozen: [ProcessIdentity]
            let guardian: pid_t
        }

        private func startProbe(_ suspension: SystemProcessHost.Suspension) async throws -> Probe {
            let process = try ChildProcess(
                Programs.processHostProbe,
                arguments: [scratch.path, "\(suspension)", scratch.path, "(\(busy)) & \(busy)"],
                output: .inherit, errors: .inherit, ownGroup: true)
            return try await probe(process)
        }

        private func probe(_ process: ChildProcess) async throws -> Probe {
            try await eventually("the probe's report") {
                if let exit = process.exit { throw SystemError("the probe ended: \(exit)", code: 0) }
                return FileManager.default.fileExists(atPath: scratch.path("report"))
            }
            let lines = try String(contentsOfFile: scratch.path("report"), encoding: .utf8).split(separator: "\n")
            let frozen = try lines.prefix(2).map { line in
                let words = line.split(separator: " ")
                try #require(words.count == 3 && words[2] == "frozen", "\(line)")
                return ProcessIdentity(
                    pid: try #require(pid_t(words[0])), startTime: try #require(UInt64(words[1])),
                    bootID: ProcessIdentity.currentBootID)
            }
            let guardian = try #require(lines.last.flatMap { pid_t($0.dropFirst("guardian ".count)) })
            return Probe(process: process, frozen: frozen, guardian: guardian)
        }

        private func expectStill(_ processes: [ProcessIdentity]) async throws {
            let (ticks, other) = (processes.map { Proc.ticks($0.pid) }, try BusyProcess())
            try await other.run(ticks: 20)
            #expect(processes.map { Proc.ticks($0.pid) } == ticks)
        }

        private func expectRunning(_ processes: [ProcessIdentity]) async throws {
            for process in processes {
                let members = Proc.members(ofSession: process.pid)
                #expect(members.contains(process.pid))
                for member in members {
                    let ticks = Proc.ticks(member)
                    try await eventually("\(member) to run") { Proc.ticks(member) > ticks }
                }
            }
        }

        private func end(_ processes: [ProcessIdentity]) {
            for process in processes { for member in Proc.members(ofSession: process.pid) { kill(member, SIGKILL) } }
        }

        /// Removes the cgroups of a killed service, once its processes are gone, by starting a new host with the same
        /// home.
        private func clean(_ probe: Probe) async throws {
            end(probe.frozen)
            try await eventually("the end of all") {
                probe.frozen.allSatisfy { Proc.members(ofSession: $0.pid).isEmpty }
            }
            try await Scene.clean(scratch)
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `T10: After kill -9 of the service the guardian thaws all processes and exits`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let probe = try await startProbe(suspension)
            defer { end(probe.frozen) }
            try await expectStill(probe.frozen)
            #expect(Proc.status(probe.guardian, "Name") == "nightshift-grd")
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(probe.guardian)/fd")
            #expect(Set(descriptors) == ["0", "1", "2", "3"])
            #expect(Proc.fields(probe.guardian)?[3] == "\(probe.guardian)"[...], "a session of its own")
            // Signals that end a service normally, or that come from the keyboard, do not end the guardian.
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] { kill(probe.guardian, signal) }
            try await expectStill(probe.frozen)
            probe.process.kill(SIGKILL)
            _ = try await probe.process.waitForExit()
            try await expectRunning(probe.frozen)
            try await eventually("the guardian to go") { !Proc.isRunning(probe.guardian) }
            let lock = open(scratch.path("lock"), O_RDWR | O_CLOEXEC)
            defer { close(lock) }
            #expect(flock(lock, LOCK_EX | LOCK_NB) == 0, "nobody else holds the service's lock")
            try await clean(probe)
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `T10: The guardian thaws all processes when the service's process group is killed`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let probe = try await startProbe(suspension)
            defer { end(probe.frozen) }
            kill(-probe.process.pid, SIGKILL)
            _ = try await probe.process.waitForExit()
            try await expectRunning(probe.frozen)
            try await clean(probe)
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `T11: The next service thaws all processes if service and guardian are killed`(
            suspension: SystemProcessHost.Suspension
        ) async throws {
            let probe = try await startProbe(suspension)
            defer { end(probe.frozen) }
            // The service is stopped, so that it cannot replace its guardian.
            try await probe.process.halt()
            kill(probe.guardian, SIGKILL)
            probe.process.kill(SIGKILL)
            _ = try await probe.process.waitForExit()
            try await expectStill(probe.frozen)
            let next = try Scene(suspension, scratch: scratch)
            for process in probe.frozen { #expect(next.host.adopt(process)) }
            try await expectRunning(probe.frozen)
            // The host suspends adopted processes with all their children, like launched ones. The probe may have
            // frozen these processes before they had started any.
            for process in probe.frozen {
                try await eventually("its child") { Proc.members(ofSession: process.pid).count == 2 }
            }
            for process in probe.frozen { #expect(next.host.suspend(process)) }
            for process in probe.frozen {
                let members = Proc.members(ofSession: process.pid)
                let (ticks, other) = (members.map(Proc.ticks), try BusyProcess())
                try await other.run(ticks: 20)
                #expect(members.count == 2 && members.map(Proc.ticks) == ticks)
            }
            next.host.kill(probe.frozen[0])
            #expect(try await next.end(of: probe.frozen[0]) == .unknown)
            #expect(next.host.resume(probe.frozen[1]))
            kill(probe.frozen[1].pid, SIGTERM)
            #expect(try await next.end(of: probe.frozen[1]) == .unknown)
            end(probe.frozen)
            next.end()
            try await clean(probe)
        }

        @Test func `T11: The next service resumes the children of a process that has ended`()
            async throws
        {
            let probe = try await startProbe(.signals)
            defer { end(probe.frozen) }
            let leader = probe.frozen[0]
            // The probe froze the process right after its launch, perhaps before the process had started any child.
            // This lets the process run for a moment, which the probe and its guardian do not notice.
            #expect(killpg(leader.pid, SIGCONT) == 0)
            var started: pid_t?
            try await eventually("its child") {
                started = Proc.members(ofSession: leader.pid).first { $0 != leader.pid }
                return started != nil
            }
            let child = try #require(started)
            #expect(killpg(leader.pid, SIGSTOP) == 0)
            try await eventually("both to stop") {
                [leader.pid, child].allSatisfy { Proc.fields($0)?[0] == "T" }
            }
            // This stops the guardian and then kills both, so that no process remains that could thaw the others.
            kill(probe.guardian, SIGSTOP)
            try await eventually("the guardian to stop") { Proc.fields(probe.guardian)?[0] == "T" }
            probe.process.kill(SIGKILL)
            _ = try await probe.process.waitForExit()
            kill(probe.guardian, SIGKILL)
            kill(leader.pid, SIGKILL)
            try await eventually("their end") { !Proc.isRunning(leader.pid) && !Proc.isRunning(probe.guardian) }
            #expect(Proc.fields(child)?[0] == "T")
            let next = try Scene(.signals, scratch: scratch)
            #expect(!next.host.adopt(leader))
            try await eventually("the child to run") { Proc.fields(child)?[0] != "T" }
            #expect(next.host.adopt(probe.frozen[1]))
            try await expectRunning([probe.frozen[1]])
            end(probe.frozen)
            kill(child, SIGKILL)
            next.end()
            try await clean(probe)
        }

        @Test func `The service replaces a killed guardian, which then knows all frozen processes`() async throws {
            let scene = try Scene(.signals)
            defer { scene.end() }
            let process = try scene.launchShell(busy)
            #expect(scene.host.guardian == nil, "nothing is frozen")
            #expect(scene.host.suspend(process))
            let first = try #require(scene.host.guardian)
            kill(first, SIGKILL)
            try await eventually("another one") { scene.host.guardian.map { $0 != first } ?? false }
            #expect(!Proc.isThere(first))
            let second = try #require(scene.host.guardian)
            #expect(Proc.isRunning(second))
            #expect(scene.host.resume(process))
            #expect(scene.host.guardian == nil)
            try await eventually("it to go") { !Proc.isThere(second) }
        }

        @Test(arguments: [true, false])
        func `The guardian does not thaw a process with a reused pid`(isSame: Bool) async throws {
            let scene = try Scene(.signals)
            defer { scene.end() }
            let process = try scene.launchShell(busy)
            try await eventually("it to run") { Proc.ticks(process.pid) > 0 }
            #expect(killpg(process.pid, SIGSTOP) == 0)
            try await eventually("it to stop") { Proc.fields(process.pid)?[0] == "T" }
            var sockets: [Int32] = [-1, -1]
            #expect(nightshift_guardian_sockets(&sockets) == 0)
            var guardian: pid_t = 0
            #expect(nightshift_guardian_start(sockets[1], &guardian) == 0)
            close(sockets[1])
            let startTime = isSame ? process.startTime : process.startTime - 1
            #expect(nightshift_guardian_tell(sockets[0], 1, process.pid, startTime, nil) == 0)
            close(sockets[0])
            var status: Int32 = -1
            #expect(waitpid(guardian, &status, 0) == guardian && status == 0)
            if isSame {
                try await eventually("it to run again") { Proc.fields(process.pid)?[0] != "T" }
            } else {
                #expect(Proc.fields(process.pid)?[0] == "T")
            }
        }

        @Test func `The guardian's table holds exactly as many processes as its capacity says`() async throws {
            let scene = try Scene(.signals)
            defer { scene.end() }
            let process = try scene.launchShell(busy)
            #expect(killpg(process.pid, SIGSTOP) == 0)
            try await eventually("it to stop") { Proc.fields(process.pid)?[0] == "T" }
            var sockets: [Int32] = [-1, -1]
            #expect(nightshift_guardian_sockets(&sockets) == 0)
            var guardian: pid_t = 0
            #expect(nightshift_guardian_start(sockets[1], &guardian) == 0)
            close(sockets[1])
            // This adds pids that no process can have, removes them and adds them again. It then fills the last free
            // place, and one more pid is refused.
            let first: pid_t = 1 << 29
            let capacity = pid_t(NIGHTSHIFT_GUARDIAN_CAPACITY)
            for round in 0..<2 {
                for number in first..<(first + capacity - 1) {
                    #expect(nightshift_guardian_tell(sockets[0], 1, number, 1, nil) == 0)
                }
                for number in first..<(first + capacity - 1) where round == 0 {
                    #expect(nightshift_guardian_tell(sockets[0], 0, number, 1, nil) == 0)
                }
            }
            #expect(nightshift_guardian_tell(sockets[0], 1, process.pid, process.startTime, nil) == 0)
            #expect(nightshift_guardian_tell(sockets[0], 1, first + capacity, 1, nil) == 0)
            close(sockets[0])
            var status: Int32 = -1
            #expect(waitpid(guardian, &status, 0) == guardian && status == 0)
            try await eventually("it to run again") { Proc.fields(process.pid)?[0] != "T" }
        }

        @Test(.enabled(if: Scene.hasControlGroups, "needs a cgroup v2 that may be written"))
        func `A service that an app has started keeps running while the app is frozen`() async throws {
            let outer = try Scene()
            defer { outer.end() }
            let app = try outer.launchShell(
                "'\(Programs.processHostProbe)' '\(scratch.path)' automatic '\(scratch.path)' '\(busy)' & \(busy)")
            try await eventually("the inner service's report") {
                FileManager.default.fileExists(atPath: scratch.path("report"))
            }
            // Processes that the inner service has just forked are in its session until they make their own.
            let members = { Proc.members(ofSession: app.pid).subtracting([app.pid]) }
            try await eventually("the inner service alone") { members().count == 1 }
            let inner = try #require(members().first)
            #expect(Proc.controlGroup(inner)?.contains("nightshift-") == false)
            #expect(Proc.controlGroup(app.pid)?.contains("nightshift-") == true)
            let lines = try String(contentsOfFile: scratch.path("report"), encoding: .utf8).split(separator: "\n")
            let frozen = lines.prefix(2).compactMap { pid_t($0.split(separator: " ")[0]) }
            kill(inner, SIGKILL)
            for process in frozen {
                try await eventually("\(process) to run") { Proc.ticks(process) > 3 }
                for member in Proc.members(ofSession: process) { kill(member, SIGKILL) }
            }
            try await eventually("the end of all") { frozen.allSatisfy { !Proc.isRunning($0) } }
            try await Scene.clean(scratch)
        }
    }
}
