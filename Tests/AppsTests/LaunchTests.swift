import Apps
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of the attributes of launched processes, and of reports about their ends (mission row L1).
    @Suite struct LaunchTests {
        @Test func `A process gets exactly the attributes of its launch plan`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            // Open descriptors and ignored signals of the service must not be inherited.
            let open = Glibc.open("/dev/zero", O_RDONLY)
            defer { close(open) }
            let before = signal(SIGUSR2, SIG_IGN)
            defer { signal(SIGUSR2, before) }
            var plan = scene.plan("sleep", ["600"])
            plan.environment["NIGHTSHIFT_WAKE"] = "sessionEvents"
            plan.directory = "/usr"
            plan.fileCreationMask = 0o027
            plan.openFiles = 512
            // The service may have more descriptors open than an app may.
            let descriptors = (0..<600).map { _ in Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC) }
            defer { for descriptor in descriptors { close(descriptor) } }
            #expect(descriptors.allSatisfy { $0 >= 0 })
            let process = try scene.launch(plan)
            let pid = process.pid
            // The dynamic loader has files open for a moment.
            try await eventually("no descriptors but the usual ones") {
                Set(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) == ["0", "1", "2"]
            }
            func link(_ name: String) throws -> String {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/\(name)")
            }
            #expect(try link("fd/0") == "/dev/null")
            let output = "\(scene.paths.runtime.path)/outputs/\(plan.app).out"
            #expect(try link("fd/1") == output && link("fd/2") == output)
            #expect(try link("cwd") == "/usr")
            for key in ["SigBlk", "SigIgn", "SigCgt"] {
                let signals = Proc.status(pid, key).flatMap { UInt64($0, radix: 16) }
                // Signals 32 and 33 belong to the C library; posix_spawn leaves one of them ignored in new processes.
                #expect(signals.map { $0 & ~0x1_8000_0000 } == 0, "\(key)")
            }
            #expect(Proc.status(pid, "Umask") == "0027")
            let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8).split(separator: "\n")
            let openFiles = limits.first { $0.hasPrefix("Max open files") }?.split(separator: " ")
            #expect(openFiles?.dropFirst(3).first == "512", "\(String(describing: openFiles))")
            let fields = try #require(Proc.fields(pid))
            #expect(fields[2] == "\(pid)" && fields[3] == "\(pid)", "a session and a process group of its own")
            let environment = try String(contentsOfFile: "/proc/\(pid)/environ", encoding: .utf8).split(separator: "\0")
            #expect(Set(environment) == ["PATH=/usr/bin:/bin", "LANG=C", "NIGHTSHIFT_WAKE=sessionEvents"])
            let words = try String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8).split(separator: "\0")
            #expect(words == ["sleep", "600"])
            let log = try FileManager.default.attributesOfItem(atPath: plan.log)
            #expect(log[.posixPermissions] as? Int == 0o600)
            #expect(process == ProcessIdentity.of(pid, bootID: ProcessIdentity.currentBootID))
            #expect(process.isAlive)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can have threads with a better nice value than others"))
        func `A process gets the nice value of the service, not that of the launching thread`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let launched = Watched<Result<ProcessIdentity, any Error>?>(nil)
            let plan = scene.plan("sleep", ["600"])
            Thread.detachNewThread {
                // On Linux the process id 0 means the calling thread, so this changes only that thread.
                let own = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -7)
                #expect(own == 0)
                launched.update { $0 = Result { try scene.launch(plan) } }
            }
            try await launched.wait(for: "the launch") { $0 != nil }
            let process = try #require(try launched.read { $0 }?.get())
            #expect(Proc.fields(process.pid)?[16] == Proc.fields(getpid())?[16])
        }

        @Test func `The service appends standard output and standard error to the log`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            for word in ["one", "two"] {
                _ = try await scene.end(of: try scene.launchShell("echo \(word); echo error \(word) >&2"))
            }
            try await eventually("all of it") {
                try String(contentsOfFile: scene.plan("sh").log, encoding: .utf8) == "one\nerror one\ntwo\nerror two\n"
            }
        }

        @Test(arguments: SystemProcessHost.Suspension.allCases)
        func `The report of an end distinguishes exit statuses from signals`(suspension: SystemProcessHost.Suspension)
            async throws
        {
            let scene = try Scene(suspension)
            defer { scene.end() }
            #expect(try await scene.end(of: try scene.launchShell("exit 0")) == .exited(0))
            #expect(try await scene.end(of: try scene.launchShell("exit 3")) == .exited(3))
            #expect(try await scene.end(of: try scene.launchShell("kill -SEGV $$")) == .signalled(SIGSEGV))
            let asked = try scene.launchShell("exec sleep 600")
            scene.host.terminate(asked)
            #expect(try await scene.end(of: asked) == .signalled(SIGTERM))
            let killed = try scene.launchShell("exec sleep 600")
            scene.host.kill(killed)
            #expect(try await scene.end(of: killed) == .signalled(SIGKILL))
            #expect(!killed.isAlive && !Proc.isThere(killed.pid), "its status was read")
            #expect(!scene.host.suspend(killed) && !scene.host.resume(killed) && !scene.host.adopt(killed))
        }

        @Test func `The service runs many processes at once and reports each end once`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let processes = try (0..<100).map { try scene.launchShell("exit \($0)", app: "app\($0 % 7)") }
            for (number, process) in processes.enumerated() {
                #expect(try await scene.end(of: process) == .exited(Int32(number)))
            }
        }

        @Test func `The service terminates and kills an app together with the processes that it started`() async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            for ask in [true, false] {
                let process = try scene.launchShell("sleep 600 & sleep 600 & wait")
                try await eventually("its children") { Proc.members(ofSession: process.pid).count == 3 }
                if ask { scene.host.terminate(process) } else { scene.host.kill(process) }
                _ = try await scene.end(of: process)
                try await eventually("the end of all") { Proc.members(ofSession: process.pid).isEmpty }
            }
        }

        @Test func `A launched process executes its program only after begin, and ends if the service stops`()
            async throws
        {
            let scene = try Scene()
            let plans = ["one", "two"].map { scene.plan("touch", [scene.scratch.path($0)], app: $0) }
            let (first, second) = (try scene.host.launch(plans[0]), try scene.host.launch(plans[1]))
            try scene.host.begin(second)
            #expect(try await scene.end(of: second) == .exited(0))
            scene.host.shutdown()
            try await eventually("the end of the waiting process") { !Proc.isRunning(first.pid) }
            waitpid(first.pid, nil, WNOHANG)
            let files = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path)
            #expect(files.contains("two") && !files.contains("one"))
            // This call comes too late.
            try scene.host.begin(first)
            #expect(scene.host.hadBegun(second, of: plans[1].app) && !scene.host.hadBegun(first, of: plans[0].app))
            try await Scene.clean(scene.scratch)
        }

        @Test func `A program whose file is being written is executed once the write has ended`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let program = try scene.scratch.write("#!/bin/sh\nexit 3\n", to: "program")
            #expect(chmod(program, 0o700) == 0)
            let writer = open(program, O_WRONLY | O_CLOEXEC)
            #expect(throws: LaunchFailure(reason: ETXTBSY, "\(program) cannot be executed: Text file busy")) {
                try scene.launch(scene.plan(program))
            }
            let plan = scene.plan(program, app: "another")
            let process = try scene.host.launch(plan)
            Thread.detachNewThread {
                // After this the process does nothing but execute its program.
                try? blockUntil("the gate to open") { scene.host.hadBegun(process, of: plan.app) }
                close(writer)
            }
            try scene.host.begin(process)
            #expect(try await scene.end(of: process) == .exited(3))
        }

        @Test func `A failed launch reports its error and leaves no process`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let noInterpreter = try scene.scratch.write("#!/nowhere/interpreter\n", to: "script")
            let noProgram = try scene.scratch.write([0, 1, 2, 3], to: "bytes")
            let notExecutable = try scene.scratch.write("#!/bin/sh\n", to: "plain")
            for path in [noInterpreter, noProgram] { #expect(chmod(path, 0o700) == 0) }
            func failure(_ change: (inout LaunchPlan) -> Void) -> LaunchFailure? {
                var plan = scene.plan("sleep", ["600"])
                change(&plan)
                return #expect(throws: LaunchFailure.self) { try scene.launch(plan) }
            }
            #expect(failure { $0.program = "no-such-program" }?.reason == ENOENT)
            #expect(failure { $0.program = "/no/such/program" }?.reason == ENOENT)
            #expect(failure { $0.program = notExecutable }?.reason == ENOENT)
            #expect(
                failure { $0.program = noInterpreter }
                    == LaunchFailure(
                        reason: ENOENT, "\(noInterpreter) cannot be executed: No such file or directory"))
            #expect(failure { $0.program = noProgram }?.message == "\(noProgram) cannot be executed: Exec format error")
            #expect(
                failure { $0.directory = "/no/such/directory" }?.message
                    == "The directory /no/such/directory cannot be entered: No such file or directory")
            #expect(failure { $0.log = "/proc/log" }?.message.hasPrefix("The log /proc/log cannot be opened: ") == true)
            #expect(failure { $0.arguments = [String(repeating: "x", count: 4 << 20)] }?.reason == E2BIG)
            try await eventually("no zombie to be left") {
                let names = try FileManager.default.contentsOfDirectory(atPath: "/proc")
                return !names.compactMap { pid_t($0) }.contains { pid in
                    guard let fields = Proc.fields(pid) else { return false }
                    return fields[1] == "\(getpid())" && fields[0] == "Z"
                }
            }
            #expect(scene.ends.read { $0.isEmpty })
        }
    }
}
