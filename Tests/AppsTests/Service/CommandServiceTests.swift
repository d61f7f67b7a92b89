import Apps
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of commands that run as background work, and of doze, with real processes (mission rows L2, L4).
    @Suite struct CommandServiceTests {
        /// Starts a child process that leads its own group or stays in this process's group.
        private func child(_ script: String, leads: Bool = true) throws -> pid_t {
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            // POSIX_SPAWN_SETSIGMASK is needed because the thread that runs this test blocks all signals.
            // POSIX_SPAWN_SETPGROUP with group 0 makes the child the leader of a new group.
            var none = sigset_t()
            sigemptyset(&none)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setflags(&attributes, leads ? 0x0a : 0x08)
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            actions.inheritNothingElse()
            var pid: pid_t = 0
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(script), nil]
            defer { for argument in arguments { free(argument) } }
            try #require(posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, nil) == 0)
            return pid
        }

        /// Returns a description of the end. In this test the host is the parent as well, so the status is known.
        private func end(_ scene: ServiceScene, of app: AppID?) async throws -> String {
            var words: String?
            try await eventually("the end of \(app?.rawValue ?? "")") {
                words = try await scene.history().last { $0.app == app && $0.decision == .appEnded }?.detail
                return words != nil
            }
            return words ?? ""
        }

        private func connect(_ scene: ServiceScene, _ child: pid_t) async throws -> CommandReader {
            let reader = CommandReader(
                try await scene.service.connect(process: getpid(), executable: "/usr/bin/work", app: nil, run: child))
            try await reader.events.wait(for: "hello") { !$0.isEmpty }
            return reader
        }

        @Test func `L2: A command is an app of its own, pauses in doze, and ends at its limit`() async throws {
            let scene = try await ServiceScene(isReal: true)
            let pid = try child("trap '' TERM; \(busy)")
            defer { kill(-pid, SIGKILL) }
            let reader = try await connect(scene, pid)
            let hello = try #require(reader.hello)
            #expect(hello.app == AppID(rawValue: "/usr/bin/work#\(pid)"))
            #expect(hello.isManaged && hello.state == .background)
            try await scene.service.beginBackgroundTask(
                process: getpid(), BackgroundTaskRequest(number: 1, name: "work"))
            #expect(try scene.shownTime(hello.clock) == .counting(until: 1_180_000_000_000))
            try await eventually("it to run") { Proc.ticks(pid) > 2 }

            await scene.service.apply(DeviceState(phase: .dozing))
            let ticks = Proc.ticks(pid)
            try await BusyProcess().run(ticks: 20)
            #expect(Proc.ticks(pid) == ticks)
            #expect(try scene.shownTime(hello.clock) == .standing(180_000_000_000))
            await scene.service.apply(DeviceState(phase: .window))
            try await eventually("it to run again") { Proc.ticks(pid) > ticks + 2 }

            scene.clock.advance(to: 5_175)
            _ = try await reader.command(.expire)
            // The command has received SIGTERM and ignores it.
            #expect(Proc.isRunning(pid))
            scene.clock.advance(to: 5_180)
            #expect(try await end(scene, of: hello.app).contains("0x2182bad2"))
            #expect(!Proc.isRunning(pid))
            try await reader.hasEnded.wait(for: "the end of the commands") { $0 }
            try await scene.end()
        }

        @Test func `L2: A command keeps its limit when its supervising process is gone`() async throws {
            let scene = try await ServiceScene(isReal: true)
            let pid = try child(busy)
            defer { kill(-pid, SIGKILL) }
            let task: AppID
            do {
                let stream = try await scene.service.connect(
                    process: getpid(), executable: "/usr/bin/work", app: nil, run: pid)
                task = try await scene.service.apps().map(\.id).first { $0.isProgram } ?? ServiceScene.app
                try await scene.service.beginBackgroundTask(
                    process: getpid(), BackgroundTaskRequest(number: 1, name: "work"))
                // The stream ends with its reader.
                let reading = Task { for await _ in stream {} }
                reading.cancel()
                await reading.value
            }
            try await eventually("it to be gone") {
                do {
                    _ = try await scene.service.app(ofProcess: getpid())
                    return false
                } catch { return true }
            }
            #expect(try await scene.status(task).background.tasks.map(\.name) == ["work"])
            // A new connection finds the same command.
            let again = try await connect(scene, pid)
            #expect(again.hello?.app == task)
            scene.clock.advance(to: 5_175)
            #expect(try await end(scene, of: task).contains("The signal was \(SIGTERM)."))
            try await again.hasEnded.wait(for: "the end of the commands") { $0 }
            #expect(!(try await scene.service.apps().contains { $0.id == task }))
            try await scene.end()
        }

        @Test func `L2: A caller can limit only its own child that leads a process group`() async throws {
            let scene = try await ServiceScene(isReal: true)
            let follower = try child("exec sleep 600", leads: false)
            defer {
                kill(follower, SIGKILL)
                waitpid(follower, nil, 0)
            }
            for (process, type) in [
                (follower, "/problems/invalid"), (getpid(), "/problems/forbidden"), (1, "/problems/forbidden"),
                (1 << 29, "/problems/conflict"),
            ] {
                let problem = await #expect(throws: Problem.self) { try await connect(scene, process) }
                #expect(problem?.type == type, "\(process)")
            }
            try await scene.end()
        }

        @Test func `L2: The supervising process of a command within an app is a secondary process of the app`()
            async throws
        {
            let scene = try await ServiceScene(command: "/bin/sh -c \"sleep 600 & wait\"", isReal: true)
            let process = try #require(try await scene.service.launch(ServiceScene.app, LaunchRequest()).processID)
            var inner: pid_t = 0
            try await eventually("what it starts") {
                inner = Proc.members(ofSession: process).subtracting([process]).first ?? 0
                return inner != 0
            }
            let stream = try await scene.service.connect(process: inner, executable: nil, app: nil, run: inner)
            let reader = CommandReader(stream)
            try await reader.events.wait(for: "hello") { !$0.isEmpty }
            #expect(reader.hello?.app == ServiceScene.app && reader.hello?.isManaged == false)
            try await scene.service.beginBackgroundTask(
                process: inner, BackgroundTaskRequest(number: 1, name: "inner"))
            #expect(try await scene.status().background.tasks.map(\.name) == ["inner"])
            #expect(try await scene.status().isConnected == false, "it has not said that the app links the library")
            _ = try await scene.service.quit(ServiceScene.app, force: true)
            try await scene.end()
        }
    }
}
