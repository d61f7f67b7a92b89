import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import CLI

/// Tests of any program as background work with a time limit, with the real `nightshift` and a scripted service
/// (mission row L2).
struct TaskRunTests {
    private static let tasks = "/v1/process/background-tasks"

    /// Runs `nightshift task run` in the world's directory.
    private func run(_ world: World, _ arguments: [String], environment: [String: String] = [:]) async throws
        -> ChildProcess.Outcome
    {
        try await ChildProcess.run(
            Programs.commandLine, ["task", "run"] + arguments, environment: Self.environment(world, environment),
            directory: world.path)
    }

    private static func environment(_ world: World, _ more: [String: String]) -> [String: String] {
        let own = ["NIGHTSHIFT_HOME": world.path, "HOME": world.path, "PATH": "/usr/bin:/bin"]
        return own.merging(more) { $1 }
    }

    private static func event(_ name: String, _ value: some Encodable) throws -> String {
        "event: \(name)\ndata: \(String(decoding: try JSON.encode(value), as: UTF8.self))\n\n"
    }

    private static func hello() throws -> String {
        try event(
            "hello",
            ProcessHello(
                app: AppID(rawValue: "/bin/sh#1"), isInstalled: false, isManaged: true, state: .background))
    }

    /// Returns a service that accepts everything and sends the events `more` after its first event.
    private func granting(
        _ world: World, then more: [String] = [], staysOpen: Bool = true,
        _ watch: @escaping @Sendable (ScriptedService.Request) throws -> Void = { _ in }
    ) throws -> ScriptedService {
        let events = [try Self.hello()] + more
        return try world.service { request in
            try watch(request)
            return request.path.hasPrefix("/v1/process/commands")
                ? .events(events, staysOpen: staysOpen) : .json(200, Data())
        }
    }

    private static func process(of request: ScriptedService.Request) -> pid_t? {
        URLComponents(string: request.path)?.queryItems?.first { $0.name == "run" }?.value.flatMap { pid_t($0) }
    }

    // MARK: - The process as the service sees it

    @Test func `L2: The service manages the process before its program executes an instruction`() async throws {
        let world = try World()
        let seen = Mutex<(pid: pid_t?, commandLine: String, isLeader: Bool, wasThere: Bool)?>(nil)
        let pid = Mutex<pid_t?>(nil)
        let mark = world.path + "/mark"
        let service = try granting(world) { request in
            if let process = Self.process(of: request) { pid.withLock { $0 = process } }
            guard request.path == Self.tasks, let process = pid.withLock({ $0 }) else { return }
            let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            seen.withLock { seen in
                seen = (
                    process, String(decoding: line, as: UTF8.self), getpgid(process) == process,
                    FileManager.default.fileExists(atPath: mark)
                )
            }
        }
        defer { service.stop() }
        let outcome = try await run(
            world, ["--name", "a name", "--", "sh", "-c", "touch mark; echo $$ \"$0\" \"$@\"; exit 7", "x y", "", "-z"])
        #expect(outcome.code == 7 && outcome.errors.isEmpty)
        let found = try #require(seen.withLock { $0 })
        #expect(outcome.output == "\(found.pid ?? 0) x y  -z\n")
        #expect(found.commandLine.contains("task\0exec") && found.isLeader && !found.wasThere)
        let requests = service.requests
        let query = URLComponents(string: requests[0].path)?.queryItems?.first { $0.name == "executable" }?.value
        #expect(["/usr/bin/sh", "/bin/sh"].contains(query))
        #expect(requests.map(\.path).dropFirst() == [Self.tasks])
        let task = try JSON.decode(BackgroundTaskRequest.self, from: requests[1].body)
        #expect(task == BackgroundTaskRequest(number: 1, name: "a name"))
    }

    @Test func `L2: In an app, the program is a task of the app and stays in the app's process group`() async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let outcome = try await run(
            world, ["--", "sh", "-c", "cut -d' ' -f1,5 /proc/$$/stat"],
            environment: ["NIGHTSHIFT_APP": "org.example.Photos"])
        #expect(outcome.code == 0 && outcome.errors.isEmpty)
        let words = outcome.output.split(whereSeparator: \.isWhitespace)
        try #require(words.count == 2)
        #expect(words[0] != words[1], "it leads no group")
        let requests = service.requests
        #expect(requests.map(\.method) == ["GET", "POST", "DELETE"])
        let items = URLComponents(string: requests[0].path)?.queryItems ?? []
        #expect(items.first { $0.name == "app" }?.value == "org.example.Photos")
        #expect(!items.contains { $0.name == "run" })
        #expect(items.first { $0.name == "guest" }?.value == "true", "it is not taken for the app itself")
        #expect(try JSON.decode(BackgroundTaskRequest.self, from: requests[1].body).name == "sh")
        #expect(requests[2].path == Self.tasks + "/1")
    }

    @Test func `L2: A stop signal before the exec stops neither the program nor its parent`() async throws {
        let world = try World()
        let process = try GatedProcess(
            executable: Programs.commandLine, program: "/bin/sh",
            arguments: ["sh", "-c", "touch $HOME/begun; kill -TSTP $$; exit 5"],
            environment: Self.environment(world, [:]), leadsGroup: true)
        defer { process.abandon() }
        // The signals are pending before the exec. If the process stopped for them, nothing would continue it.
        for number in StopSignals.numbers { #expect(kill(-process.id, number) == 0) }
        process.begin()
        var events: [GatedProcess.Event] = []
        for await event in process.events {
            events.append(event)
            let hasBegun = FileManager.default.fileExists(atPath: world.path + "/begun")
            #expect(hasBegun, "\(event)")
            kill(-process.id, SIGCONT)
        }
        // After its start, the program sends a stop signal to itself.
        #expect(events == [.stopped(SIGTSTP), .ended(.exited(5))])
    }

    // MARK: - The end

    @Test(arguments: [("exit 0", Int32(0)), ("exit 42", 42), ("kill -KILL $$", 137), ("kill -TERM $$", 143)])
    func `L2: The command has the exit code of the program`(_ script: String, _ status: Int32) async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let outcome = try await run(world, ["--", "sh", "-c", script])
        #expect(outcome.code == status && outcome.errors.isEmpty)
    }

    @Test func `L2: With --json the command prints a record at the end`() async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let outcome = try await run(world, ["--json", "--name", "n", "--", "sh", "-c", "echo out; exit 3"])
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.first == "out" && lines.count == 2)
        let record = try JSON.decode(Record.self, from: Data((lines.last ?? "").utf8))
        #expect(record.name == "n" && record.end == "exited" && record.status == 3 && record.seconds < 30)
    }

    private struct Record: Decodable {
        var name: String
        var seconds: Double
        var end: String
        var status: Int32?
    }

    @Test func `L2: The exit code is 124 if the program exceeds its time`() async throws {
        let world = try World()
        let pid = Mutex<pid_t?>(nil)
        let service = try granting(
            world, then: [try Self.event("command", ProcessCommand(number: 1, action: .expire))]
        ) { request in
            if let process = Self.process(of: request) { pid.withLock { $0 = process } }
            // The service kills a program that does not end.
            if request.path.hasSuffix("/acknowledge"), let process = pid.withLock({ $0 }) { kill(-process, SIGKILL) }
        }
        defer { service.stop() }
        let outcome = try await run(world, ["--", "sleep", "60"])
        #expect(outcome.code == 124)
        #expect(
            outcome.errors == """
                nightshift: sleep: The background time is nearly over. The program is asked to end.
                nightshift: sleep: The background time was over. The service has ended the program.

                """)
    }

    @Test func `L2: In an app, the command asks the program to end and returns the program's exit code`() async throws {
        let world = try World()
        let service = try granting(
            world, then: [try Self.event("command", ProcessCommand(number: 1, action: .expire))])
        defer { service.stop() }
        let outcome = try await run(
            world, ["--", "sh", "-c", "trap 'exit 9' TERM; while :; do sleep 0.05; done"],
            environment: ["NIGHTSHIFT_APP": "a"])
        // The signal may arrive before the trap is set.
        #expect(outcome.code == 9 || outcome.code == 124)
    }

    // MARK: - Errors

    @Test func `L2: The command does not start a program that the service refuses`() async throws {
        let world = try World()
        let service = try granting(world) { request in
            if request.path == Self.tasks { throw Problem.noBackgroundTime("None is left.") }
        }
        defer { service.stop() }
        let outcome = try await run(world, ["--", "touch", "mark"])
        #expect(outcome.code == 125)
        #expect(outcome.errors == "nightshift: touch was not started: None is left.\n")
        #expect(!FileManager.default.fileExists(atPath: world.path + "/mark"))
    }

    @Test func `L2: The command does not start a program if no service is reachable`() async throws {
        let world = try World()
        // A file at the path of the socket's directory prevents the start of a service.
        try Data().write(to: world.root.appending(path: "run"))
        let outcome = try await run(world, ["--", "touch", "mark"])
        #expect(outcome.code == 125 && outcome.errors.hasPrefix("nightshift: touch was not started: "))
        #expect(!FileManager.default.fileExists(atPath: world.path + "/mark"))
    }

    @Test func `L2: The command restores a lost connection to the service silently`() async throws {
        let world = try World()
        let asked = Watched(0)
        let service = try granting(world, staysOpen: false) { request in
            if request.path == Self.tasks { asked.update { $0 += 1 } }
        }
        defer { service.stop() }
        let running = Task {
            try await run(world, ["--", "sh", "-c", "while [ ! -e gate ]; do sleep 0.05; done; exit 4"])
        }
        try await asked.wait(for: "three tasks") { $0 >= 3 }
        try Data().write(to: world.root.appending(path: "gate"))
        let outcome = try await running.value
        #expect(outcome.code == 4 && outcome.errors.isEmpty)
    }

    @Test(arguments: [("-- no-such-program", Int32(127)), ("-- ./no", 127), ("-- /tmp", 126), ("", 2)])
    func `L2: The command sends no request if the program is missing or not executable`(
        _ words: String, _ status: Int32
    ) async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let outcome = try await run(world, words.split(separator: " ").map(String.init))
        #expect(outcome.code == status && outcome.errors.hasPrefix("nightshift: "))
        #expect(service.requests.isEmpty)
    }

    @Test func `L2: The command passes SIGTERM on to the program`() async throws {
        let world = try World()
        let service = try granting(world)
        defer { service.stop() }
        let process = try ChildProcess(
            Programs.commandLine,
            arguments: ["task", "run", "--", "sh", "-c", "trap 'exit 8' TERM; touch up; while :; do sleep 0.05; done"],
            environment: Self.environment(world, [:]), directory: world.path, diesWithParent: false)
        try await eventually("the program is up") { FileManager.default.fileExists(atPath: world.path + "/up") }
        process.kill(SIGTERM)
        #expect(try await process.waitForExit() == .code(8))
    }
}
