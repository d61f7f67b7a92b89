import Apps
import CNightshift
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

extension ProcessTests {
    /// Tests of log keepers, which limit logs for any output. No app fails because of its log (decision 0023).
    @Suite struct LogKeeperTests {
        private static let limit: Int64 = 65_536

        private func plan(_ scene: Scene, _ script: String, limit: Int64 = limit) -> LaunchPlan {
            var plan = scene.plan("sh", ["-c", script])
            plan.logLimit = limit
            return plan
        }

        /// Returns the text of both halves of a log, the older half first.
        private func log(_ plan: LaunchPlan) -> String {
            AppOutput.halves(plan.log).map { (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "" }.joined()
        }

        private func waitForKeepersToEnd(_ scene: Scene) async throws {
            try await eventually("the keepers' end") { scene.host.keepers.isEmpty }
        }

        @Test func `L1: The log of an app that writes continuously never exceeds twice the limit`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let plan = plan(scene, "echo begun; exec yes a line of output that is neither short nor long")
            let process = try scene.launch(plan)
            try await eventually("a flood") { log(plan).contains("[nightshift left out ") }
            var largest = 0
            // Each half contains only the last lines.
            var floods: Set<Substring> = []
            try await eventually("more of it") {
                let sizes = try AppOutput.halves(plan.log).map { path in
                    FileManager.default.fileExists(atPath: path) ? try fileBytes(path).count : 0
                }
                largest = max(largest, sizes.reduce(0, +))
                floods.formUnion(log(plan).split(separator: "\n").filter { $0.hasPrefix("[nightshift left out ") })
                return floods.count > 2
            }
            #expect(largest <= 2 * Self.limit && largest > 0)
            scene.host.kill(process)
            _ = try await scene.end(of: process)
            try await waitForKeepersToEnd(scene)
            #expect(log(plan).utf8.count <= 2 * Self.limit)
        }

        @Test(arguments: [4_096, 65_536, 1 << 20] as [Int64])
        func `L1: The log keeps the last whole lines, and marks where lines are left out`(limit: Int64)
            async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            let plan = plan(scene, "seq 1 400000; echo the last line; exit 5", limit: limit)
            let process = try scene.launch(plan)
            #expect(try await scene.end(of: process) == .exited(5))
            try await waitForKeepersToEnd(scene)
            let text = log(plan)
            #expect(text.hasSuffix("\n399999\n400000\nthe last line\n"), "\(text.suffix(100))")
            #expect(text.utf8.count <= 2 * limit)
            // The numbers increase by one, except where the log leaves out lines. A line may be cut there.
            let lines = text.split(separator: "\n")
            var last: Int?
            for (index, line) in lines.enumerated() {
                let isCut = index + 1 < lines.count && lines[index + 1].hasPrefix("[nightshift left out ")
                guard let number = Int(line), !isCut else {
                    last = nil
                    continue
                }
                if let last { #expect(number == last + 1) }
                last = number
            }
            if limit <= 65_536 { #expect(text.contains("[nightshift left out ")) }
        }

        @Test func `L1: Output appears in the log at once, even without a line end`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let plan = plan(scene, "printf one; echo error >&2; printf two; exec sleep 600")
            _ = try scene.launch(plan)
            try await eventually("all of it") { log(plan) == "oneerror\ntwo" }
            let attributes = try FileManager.default.attributesOfItem(atPath: plan.log)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }

        @Test func `L1: The service replaces a killed log keeper without effect on the app`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let stop = scene.scratch.path("stop")
            let plan = plan(
                scene, "i=0; while [ ! -e \(stop) ]; do i=$((i+1)); echo line $i; sleep 0.01; done; echo end; exit 7")
            let process = try scene.launch(plan)
            for _ in 0..<5 {
                let keeper = try #require(scene.host.keepers.first)
                kill(keeper, SIGKILL)
                try await eventually("another one") { scene.host.keepers.first.map { $0 != keeper } ?? false }
                let before = log(plan)
                try await eventually("more lines") { log(plan).count > before.count }
            }
            _ = try scene.scratch.write("", to: "stop")
            #expect(try await scene.end(of: process) == .exited(7))
            try await waitForKeepersToEnd(scene)
            let numbers = log(plan).split(separator: "\n").compactMap { Int($0.dropFirst(5)) }
            #expect(Set(numbers).count == numbers.last, "nothing is lost")
            #expect(log(plan).hasSuffix("\nend\n"))
        }

        @Test func `L1: A log keeper outlives the service, and the next service uses it`()
            async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            let plan = plan(scene, "while :; do echo line; sleep 0.01; done")
            // This launches the process directly, because the scene must not end it.
            let process = try scene.host.launch(plan)
            try scene.host.begin(process)
            let keeper = try #require(scene.host.keepers.first)
            scene.host.shutdown()
            defer { for member in Proc.members(ofSession: process.pid) { kill(member, SIGKILL) } }
            let before = log(plan).count
            try await eventually("lines without a service") { log(plan).count > before }
            // Signals that end a service normally do not end the keeper.
            for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] { kill(keeper, signal) }

            let next = try Scene(scratch: scene.scratch)
            #expect(next.host.adopt(process))
            next.host.keepLog(of: plan.app, log: plan.log, limit: plan.logLimit)
            #expect(next.host.keepers == [keeper])
            // Another process of the app writes to the same log.
            let other = try next.launch(self.plan(next, "echo the other; exit 0"))
            _ = try await next.end(of: other)
            try await eventually("its words") { log(plan).contains("the other\n") }
            #expect(next.host.keepers == [keeper])
            // Service and keeper die, and the app waits for a reader of its output. The next service starts a keeper
            // for the app.
            next.host.shutdown()
            kill(keeper, SIGKILL)
            try await eventually("the keeper's end") { !Proc.isRunning(keeper) }
            #expect(Proc.isRunning(process.pid))
            let third = try Scene(scratch: scene.scratch)
            #expect(third.host.adopt(process))
            third.host.keepLog(of: plan.app, log: plan.log, limit: plan.logLimit)
            let size = log(plan).count
            try await eventually("more lines") { log(plan).count > size }
            third.host.kill(process)
            _ = try await third.end(of: process)
            try await waitForKeepersToEnd(third)
            third.end()
        }

        @Test(arguments: ["rm LOG", "mv LOG LOG.mine", "echo mine > LOG.new; mv LOG.new LOG"])
        func `L1: The log keeper writes to the log's path after the log was deleted, moved or replaced`(command: String)
            async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            let go = scene.scratch.path("go")
            let plan = plan(
                scene, "echo before; while [ ! -e \(go) ]; do sleep 0.01; done; echo behind; exec sleep 600")
            _ = try scene.launch(plan)
            try await eventually("its first words") { log(plan) == "before\n" }
            let script = command.replacing("LOG", with: "'\(plan.log)'")
            #expect(try await ChildProcess.run("sh", ["-c", script]).code == 0)
            _ = try scene.scratch.write("", to: "go")
            try await eventually("its last words") { log(plan).hasSuffix("behind\n") }
            #expect(!log(plan).contains("before"))
        }

        @Test func `L1: A truncated log can grow to its full size again`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let go = scene.scratch.path("go")
            let plan = plan(
                scene, "seq 1 100; while [ ! -e \(go) ]; do sleep 0.01; done; seq 1 100; exec sleep 600", limit: 400)
            _ = try scene.launch(plan)
            try await eventually("its first words") { log(plan).hasSuffix("\n100\n") }
            #expect(truncate(plan.log, 0) == 0)
            _ = try scene.scratch.write("", to: "go")
            try await eventually("its last words") { log(plan).hasSuffix("\n100\n") }
            let newer = try String(contentsOfFile: plan.log, encoding: .utf8)
            #expect(newer.hasPrefix("1\n"))
        }

        @Test func `L1: A log keeper does not inherit the service's memory or files, and sleeps without output`()
            async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            // This memory belongs to the service.
            var waste = [UInt8](repeating: 1, count: 64 << 20)
            let process = try scene.launchShell("echo begun; exec sleep 600")
            waste[0] = 2
            let keeper = try #require(scene.host.keepers.first)
            try await eventually("its words") { log(scene.plan("sh")) == "begun\n" }
            withExtendedLifetime(waste) {}
            #expect(Proc.status(keeper, "Name") == "nightshift-log")
            #expect(Proc.fields(keeper)?[3] == "\(keeper)"[...], "a session of its own")
            #expect(Proc.fields(keeper)?[1] != "\(getpid())"[...], "nobody's child")
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(keeper)/fd")
            #expect(Set(open) == ["0", "1", "2", "3", "4", "5", "6", "7"])
            #expect(Proc.controlGroup(keeper) != Proc.controlGroup(process.pid) || !Scene.hasControlGroups)
            #expect(try ProcessMemory.anonymous(of: keeper) < 32 << 20, "what this process has allocated")
            let switches = Proc.status(keeper, "voluntary_ctxt_switches")
            try await BusyProcess().run(ticks: 30)
            #expect(Proc.status(keeper, "voluntary_ctxt_switches") == switches)
            scene.host.kill(process)
            _ = try await scene.end(of: process)
            try await waitForKeepersToEnd(scene)
            try await eventually("its end") { !Proc.isRunning(keeper) }
        }

        @Test func `L1: A log that cannot be renamed fills up and blocks neither its app nor its keeper`()
            async throws
        {
            let scene = try Scene()
            defer { scene.end() }
            // The last line does not fit into the remaining space.
            let plan = plan(
                scene, "printf '%03999d\\n%0999d\\n' 0 0; head -c 200000 /dev/zero | tr '\\0' x; exit 5", limit: 4_096)
            try FileManager.default.createDirectory(
                atPath: AppOutput.halves(plan.log)[0], withIntermediateDirectories: true)
            let process = try scene.launch(plan)
            #expect(try await scene.end(of: process) == .exited(5))
            try await waitForKeepersToEnd(scene)
            #expect((1...4_096).contains(log(plan).utf8.count))
        }

        @Test func `L1: The next launch cuts an oversized log of an earlier version`() async throws {
            let scene = try Scene()
            defer { scene.end() }
            let plan = plan(scene, "echo the end")
            try FileManager.default.createDirectory(
                atPath: URL(filePath: plan.log).deletingLastPathComponent().path, withIntermediateDirectories: true)
            let line = "a line of an earlier version\n"
            try Data(String(repeating: line, count: 100_000).utf8).write(to: URL(filePath: plan.log))
            let process = try scene.launch(plan)
            _ = try await scene.end(of: process)
            try await waitForKeepersToEnd(scene)
            #expect(log(plan).utf8.count <= 2 * Self.limit && log(plan).hasSuffix(line + "the end\n"))
        }
    }
}
