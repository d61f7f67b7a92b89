import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of any program as bounded background work (L2, L5, L6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct TaskRunTests {
    private func service(policy: String) async throws -> Service {
        let service = try Service()
        try await service.start()
        #expect(try await service.cli(["device", "policy", policy]).exit == .code(0))
        return service
    }

    private func run(_ service: Service, _ script: String) throws -> ChildProcess {
        try service.startCLI(
            ["task", "run", "--name", "work", "--", "sh", "-c", script], output: service.scratch.path("run"))
    }

    private func written(_ service: Service) -> String {
        (try? String(contentsOfFile: service.scratch.path("run"), encoding: .utf8)) ?? ""
    }

    /// Returns the process whose ID the script has written.
    private func number(_ service: Service) async throws -> LiveProcess {
        try await eventually("the command") { written(service).contains("\n") }
        return LiveProcess(try #require(Int32(written(service).prefix { $0.isNumber })))
    }

    @Test func `L2: task run passes on the command's output and exit status`() async throws {
        let service = try await service(policy: "opportunistic")
        let outcome = try await service.cli(["task", "run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"])
        #expect(outcome.exit == .code(7) && outcome.output == "out\n" && outcome.errors == "err\n", "\(outcome)")
        let killed = try await service.cli(["task", "run", "--", "sh", "-c", "kill -9 $$"])
        #expect(killed.exit == .code(128 + 9))
        #expect(try await service.cli(["task", "run", "--", "/nonexistent/program"]).exit == .code(127))
        #expect(try await service.cli(["task", "run"]).exit == .code(2))
    }

    @Test func `L5: A command gets SIGTERM before its time is over, and may then exit`() async throws {
        let service = try await service(policy: "opportunistic:10")
        let run = try run(service, "echo $$; trap 'echo told; exit 3' TERM; while :; do sleep 0.1; done")
        #expect(try await run.waitForExit() == .code(3))
        #expect(written(service).contains("told"))
    }

    @Test func `L5: The service ends a command that ignores SIGTERM, with the reason`() async throws {
        let service = try await service(policy: "opportunistic:10")
        let run = try run(service, "echo $$; trap '' TERM; while :; do sleep 0.1; done")
        #expect(try await run.waitForExit() == .code(124))
        #expect(written(service).contains("time"), "\(written(service))")
        // The service notices and records the command's end only after the command has ended.
        try await eventually("the journal's word on its end") {
            try await service.cli(["journal", "--since", "all"]).output.contains("0x2182bad2")
        }
    }

    @Test func `L6: A command pauses in doze and continues in a window`() async throws {
        let service = try await service(policy: "opportunistic")
        let run = try run(service, "echo $$; while [ ! -e \(service.scratch.path("gate")) ]; do :; done")
        let process = try await number(service)
        try await service.device(set: ["power": "battery", "idle": "yes"])
        try await service.doze(.dozing)
        try await eventually("a command that is frozen") { process.isFrozen }
        let ticks = process.ticks
        try await BusyProcess().run(ticks: 50)
        #expect(process.ticks == ticks)
        try await service.doze(.window)
        try await eventually("a command that runs") { try await !process.rests() }
        try Data().write(to: URL(filePath: service.scratch.path("gate")))
        #expect(try await run.waitForExit() == .code(0))
    }

    @Test func `L2: A command outlives its killed service, and the next service manages it`() async throws {
        let service = try await service(policy: "opportunistic")
        let run = try run(
            service, "echo $$; while [ ! -e \(service.scratch.path("gate")) ]; do sleep 0.05; done; exit 5")
        let process = try await number(service)
        let first = try await service.api.status().processID
        try await service.kill()
        #expect(process.isAlive)
        try service.spawn()
        try await eventually("another service that knows the command") {
            guard let status = try? await service.api.status(), status.processID != first else { return false }
            let apps: AppList = try await service.api.get("/v1/apps")
            return apps.apps.contains { $0.background.tasks.map(\.name) == ["work"] }
        }
        try Data().write(to: URL(filePath: service.scratch.path("gate")))
        #expect(try await run.waitForExit() == .code(5))
        // The command may have started the service before the test did.
        #expect(try await service.cli(["service", "stop"]).exit == .code(0))
    }

    @Test func `L2: A command started within an app is a task of that app`() async throws {
        let app = try AppFixture()
        try await app.service.start()
        let gate = app.scratch.path("gate")
        let entry = """
            [Desktop Entry]
            Type=Application
            Name=Script
            Exec=sh -c "\(Programs.commandLine) task run --name nightly -- sh -c 'while [ ! -e \(gate) ]; do sleep 0.05; done'; sleep 1000"
            """
        let idleEntry = "[Desktop Entry]\nType=Application\nName=Idle\nExec=sleep 1000\n"
        for (name, text) in [("Script", entry), ("Idle", idleEntry)] {
            let path = try app.scratch.write(text, to: "org.example.\(name).desktop")
            try await app.api.post("/v1/apps", InstallRequest(entry: path), as: AppStatus.self)
            try await app.api.post("/v1/apps/org.example.\(name)/launch", LaunchRequest(), as: AppStatus.self)
        }
        func status(_ name: String) async throws -> AppStatus { try await app.api.get("/v1/apps/org.example.\(name)") }
        try await eventually("a task") { try await status("Script").background.tasks.map(\.name) == ["nightly"] }
        for name in ["Script", "Idle"] { try await app.api.send("POST", "/v1/apps/org.example.\(name)/background") }
        try await eventually("the suspension of one without a task", within: .seconds(40)) {
            try await status("Idle").state == .suspended
        }
        #expect(try await status("Script").state == .background, "its task keeps it running")
        try app.open(gate)
        try await eventually("suspension", within: .seconds(40)) { try await status("Script").state == .suspended }
    }
}
