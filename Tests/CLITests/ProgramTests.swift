import Foundation
import Glibc
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import CLI

struct ProgramTests {
    // MARK: Without a service

    @Test(arguments: [
        ["get"], ["get", "-o", "x", "http://a/1", "http://a/2"], ["get", "--limit-rate", "x", "http://a/1"],
        ["get", "example.org"], ["get", "-o", "x", "-d", "y", "http://a/1"], ["nonsense"], ["show", ""], ["pause"],
        ["set", "1"], ["get", "--priority", "2", "http://a/"], ["list", "--state", "lost"],
        ["get", "-i", "/nonexistent"],
        ["app", "show"], ["app", "show", ""], ["app", "snapshot", "a"], ["app", "launch", "a", "b"], ["why", ""],
        ["get", "--checksum", "md5:00", "http://a/"], ["put", "x", "ftp://a/"], ["get", "--user", ":x", "http://a/"],
    ])
    func `Mistakes in the command line have exit code 2`(_ arguments: [String]) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
        #expect(!world.errors.text.isEmpty && world.output.text.isEmpty)

        let other = try World()
        #expect(await CommandLineProgram.run(other.invocation(arguments + ["--json"])) == .usage)
        let report = try JSON.decode(Report.self, from: Data(other.errors.text.utf8))
        #expect(report.type == "/problems/usage" && report.exitCode == 2 && other.output.text.isEmpty)
    }

    @Test func `Requests for help and version have exit code 0`() async throws {
        let world = try World()
        #expect(await world.run("--version") == .whole)
        #expect(world.output.text == NightshiftVersion.current + "\n")
        for arguments in [["help", "get"], ["help"], ["help", "app", "kill"], ["get", "--help"], ["service"], []] {
            let world = try World()
            #expect(await CommandLineProgram.run(world.invocation(arguments)) == .whole)
            #expect(world.output.text.contains("USAGE:") && world.errors.text.isEmpty)
        }
    }

    @Test(arguments: [
        ["get", "ftp://bob:secret@a.example/x"], ["ftp://bob:secret@a.example/x"],
        ["get", "-H", "Authorization: Bearer secret\u{1}", "https://a.example/x"],
        ["get", "-H", "Authorization Bearer secret", "https://a.example/x"],
        ["get", "--json", "--header=Authorization Bearer secret", "https://a.example/x"],
        ["retarget", "https://ada:secret@a.example/x", "12"], ["pause", "https://ada:secret@a.example/"],
        ["put", "f", "https://a.example/x", "https://ada:secret@b.example/x"],
    ])
    func `Errors about arguments do not repeat passwords`(_ arguments: [String]) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
        #expect(!world.errors.text.isEmpty && !world.errors.text.contains("secret"))
    }

    @Test func `T8: get refuses a Host field, and reports other fields that it does not send`() async throws {
        let world = try World()
        #expect(await world.run("get", "-H", "Host: b.example", "http://a.example/1") == .usage)
        #expect(world.errors.text.contains("change the host in the URL"))

        let other = try World()
        let fields = [HeaderField(name: "TE", value: "x"), HeaderField(name: "X-Own", value: "x")]
        HeaderArgument.warn(about: fields, other.invocation([]).errors)
        let warning = "nightshift: These header fields are not sent, because the service sets them: TE\n"
        #expect(other.errors.text == warning)
    }

    @Test func `T8: A proxy password with an unescaped at sign is refused before any request`() async throws {
        let world = try World()
        #expect(await world.run("get", "--proxy", "http://ada:p@ss@p.example:1", "http://a.example/1") == .usage)
        #expect(world.errors.text.contains("Write it as %40") && !world.errors.text.contains("p@ss"))
    }

    @Test(arguments: [
        ("shw 1", "There is no command 'shw'. Did you mean 'nightshift show'? 'nightshift --help'"),
        ("app kil x", "There is no command 'kil'. Did you mean 'nightshift app kill'? 'nightshift app --help' lists"),
        ("device sohw", "There is no command 'sohw'. Did you mean 'nightshift device show'?"),
        ("help shw", "There is no command 'shw'. Did you mean 'nightshift show'? 'nightshift --help'"),
        (
            "help app kil",
            "There is no command 'kil'. Did you mean 'nightshift app kill'? 'nightshift app --help' lists"
        ),
        ("stat", "Did you mean 'nightshift status'?"), ("lst", "Did you mean 'nightshift list' or 'nightshift set'?"),
        ("frobnicate", "There is no command 'frobnicate'. 'nightshift --help' lists the commands."),
        ("http://a/1", "'nightshift get URL' downloads"),
        ("get --limit 8M -o x http://a/1", "'nightshift get' has no option '--limit'. Did you mean '--limit-rate'?"),
        ("get --limit=8M http://a/1", "'nightshift get' has no option '--limit'. Did you mean '--limit-rate'?"),
        ("get -y 16 http://a/1", "'nightshift get' has no option '-y'. 'nightshift get --help' lists the options."),
        ("get --outptu x http://a/1", "Did you mean '--output'?"), ("--nonsense", "'nightshift' has no option"),
        ("push --jsn", "'nightshift push' has no option '--jsn'. Did you mean '--json'?"),
        ("app list --al", "'nightshift app list' has no option '--al'."),
    ])
    func `Errors name the unknown command or option`(_ line: String, _ message: String) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(line.split(separator: " ").map(String.init))) == .usage)
        #expect(world.errors.text.contains(message), "\(world.errors.text)")
    }

    @Test(arguments: [
        "get", "app show", "list --state lost", "get -H", "get -o x http://a/1 http://a/2",
        "get -- --limit", "get --priority -1 http://a/1",
    ])
    func `Errors of the argument parser have exit code 2 and show the usage`(_ line: String) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(line.split(separator: " ").map(String.init))) == .usage)
        #expect(world.errors.text.contains("Usage:"), "\(world.errors.text)")
    }

    @Test func `The options of a default subcommand are accepted without its name`() async throws {
        let world = try World()
        #expect(await world.run("push", "--json", "x") == .usage)
        #expect(world.errors.text.contains("Unexpected argument 'x'"), "\(world.errors.text)")
    }

    @Test func `Without nightshiftd the exit code says that the service is unreachable`() async throws {
        let world = try World()
        #expect(await world.run("list") == .unreachable)
        #expect(world.errors.text.contains("nightshiftd was not found"))
        #expect(await world.run("status") == .unreachable)
        let other = try World()
        #expect(await other.run("status", "--json") == .unreachable)
        #expect(try JSON.decode(Report.self, from: Data(other.errors.text.utf8)).exitCode == 3)
    }

    @Test func `get checks the destination before it sends a request`() async throws {
        let world = try World()
        try Data("x".utf8).write(to: world.root.appending(path: "there"))
        #expect(await world.run("get", "-o", "there", "http://a/1") == .failed)
        #expect(world.errors.text.contains("--force") && world.errors.text.contains("-d"))
        #expect(await world.run("get", "-o", "no/where", "http://a/1") == .failed)
        #expect(await world.run("get", "-d", "nowhere", "http://a/1") == .failed)
        #expect(await world.run("get", "-d", "there", "http://a/1") == .failed)
        #expect(await world.run("get", "-o", ".", "http://a/1") == .failed)
    }

    @Test func `A shell can run a suggested command`() async throws {
        let world = try World()
        #expect(await world.run("get", "-d", "no/it's", "http://a/1") == .failed)
        let line = try #require(world.errors.text.firstMatch(of: /Create it with: (.*)\n/)).1
        #expect(try await ChildProcess.run("sh", ["-c", String(line)]).code == 0)
        #expect(FileManager.default.fileExists(atPath: world.path + "/no/it's"))
    }

    @Test func `The error about a reversed range contains the corrected range`() async throws {
        let world = try World()
        #expect(await world.run("resume", "5-2") == .usage)
        #expect(world.errors.text.contains("range first: 2-5"), "\(world.errors.text)")
    }

    @Test func `get asks for a password only on a terminal`() async throws {
        let world = try World()
        let pipe = Pipe()
        #expect(throws: CommandFailure.self) {
            try PasswordPrompt.read("?", input: pipe.fileHandleForReading.fileDescriptor, errors: world.errors.output())
        }
        #expect(world.errors.text.isEmpty)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completions(_ shell: String) async throws {
        let world = try World()
        #expect(await world.run("completions", shell) == .whole)
        #expect(world.output.text.contains("nightshift") && world.output.text.contains("checksum"))
    }

    @Test func `doctor checks a machine without a running service`() async throws {
        let world = try World()
        try world.installDaemon("exit 0")
        #expect(await world.run("doctor", "--json") == .whole)
        struct Document: Decodable {
            struct Check: Decodable {
                var check: String
                var result: String
            }
            var checks: [Check]
        }
        let document = try JSON.decode(Document.self, from: Data(world.output.text.utf8))
        #expect(Set(document.checks.map(\.check)).isSuperset(of: ["programs", "socket", "state", "libcurl", "clock"]))
        #expect(document.checks.first { $0.check == "programs" }?.result == "ok")

        // A directory that other users can enter is a failure with advice.
        try FileManager.default.createDirectory(
            at: world.root.appending(path: "state"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        #expect(await world.run("doctor") == .failed)
        #expect(world.output.text.contains("other users have access to"))
    }

    // MARK: With a service

    @Test func `get follows its transfers to the end`() async throws {
        let world = try World()
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14), TaskID(15)]))
            case ("GET", "/v1/events"):
                try .events(
                    [
                        .journal(Samples.entry(101, .started, task: 14)),
                        .journal(Samples.entry(102, .started, task: 99)),
                        .progress(
                            TaskProgress(
                                id: TaskID(14), countOfBytesReceived: 1, countOfBytesExpectedToReceive: 2,
                                countOfBytesSent: 0, countOfBytesExpectedToSend: 0, bytesPerSecond: 1)),
                        .journal(Samples.entry(103, .completed, task: 14)),
                        .journal(Samples.entry(104, .failed, task: 15)),
                    ], staysOpen: true)
            case ("GET", "/v1/tasks/14"): try .json(Samples.completed())
            case ("GET", "/v1/tasks/15"): try .json(Samples.failed())
            default: throw Problem.notFound(request.path)
            }
        }
        defer { service.stop() }
        let status = await world.run(
            "get", "-H", "Authorization: token", "--limit-rate", "1K", "http://a.example/1", "https://b.example/2",
            environment: ["https_proxy": "p:1"])
        #expect(status == .failed)
        #expect(world.output.text == "/home/ada/Downloads/film one.mkv\n")
        try Fixture.check("get-plain", world.errors.text)

        let posted = try #require(service.requests.first { $0.method == "POST" })
        #expect(posted.headers["host"] == "localhost" && posted.headers["content-type"] == "application/json")
        let request = try JSON.decode(EnqueueRequest.self, from: posted.body)
        #expect(request.tasks.map(\.url) == ["http://a.example/1", "https://b.example/2"])
        #expect(request.tasks.map(\.proxy) == [nil, "http://p:1"])
        #expect(request.tasks.map(\.proxyVariable) == [nil, "https_proxy"])
        #expect(request.tasks.allSatisfy { $0.failsOnHTTPError == true && $0.retryPolicy == .transientResponses })
        #expect(request.tasks.allSatisfy { $0.rateLimit == 1_024 && $0.destination?.directory == world.path })
        let events = try #require(service.requests.first { $0.path.hasPrefix("/v1/events") })
        // The stream starts before the service accepts the tasks, so that get misses no event.
        #expect(events.headers["last-event-id"] == "100" && events.path.contains("task=14,15"))
    }

    @Test func `T8: Repeating a get follows its transfer, even if that has just ended`() async throws {
        let world = try World()
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14)], joined: [TaskID(14)]))
            case ("GET", "/v1/tasks/14"): try .json(Samples.completed())
            default: throw Problem.notFound(request.path)
            }
        }
        defer { service.stop() }
        #expect(await world.run("get", "-o", "film", "http://a.example/1") == .whole)
        #expect(world.errors.text.hasPrefix("Transfer 14 is already downloading this file. Following it.\n"))
        let posted = try #require(service.requests.first { $0.method == "POST" })
        let destination = try JSON.decode(EnqueueRequest.self, from: posted.body).tasks.first?.destination
        #expect(destination == Destination(directory: world.path, filename: "film", ifTaken: .join))

        #expect(await world.run("get", "--detach", "-o", "film", "http://a.example/1") == .whole)
        #expect(world.output.text.hasSuffix("14\n"))
        #expect(world.errors.text.contains("Follow it with: nightshift watch 14"))
        #expect(await world.run("get", "--detach", "--json", "-o", "film", "http://a.example/1") == .whole)
        #expect(world.output.text.hasSuffix("{\"ids\":[14],\"joined\":[14]}\n"))
    }

    /// Returns a service with one download for standard output.
    private func keeper(_ world: World, _ content: [UInt8], _ task: TaskStatus) throws -> ScriptedService {
        try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14)]))
            case ("GET", "/v1/events"):
                try .events([.journal(Samples.entry(101, .completed, task: 14))], staysOpen: true)
            case ("GET", "/v1/tasks/14"): try .json(task)
            case ("GET", "/v1/tasks/14/content"): .json(200, Data(content))
            case ("POST", "/v1/actions"): try .json(TaskActionAnswer(results: []))
            default: throw Problem.notFound(request.path)
            }
        }
    }

    private func actions(_ service: ScriptedService) throws -> [TaskAction] {
        try service.requests.filter { $0.path == "/v1/actions" }.map {
            try JSON.decode(TaskActionRequest.self, from: $0.body).action
        }
    }

    @Test func `T8: get -o - writes the bytes to standard output and removes the transfer`() async throws {
        let world = try World()
        let service = try keeper(world, Array("whole\u{1b}[2J\n".utf8), Samples.completed(14))
        defer { service.stop() }
        #expect(await world.run("get", "-o", "-", "http://a.example/1") == .whole)
        #expect(world.output.text == "whole\u{1b}[2J\n")
        #expect(try actions(service) == [.cancel, .remove])
        let posted = try #require(service.requests.first { $0.path == "/v1/tasks" })
        #expect(try JSON.decode(EnqueueRequest.self, from: posted.body).tasks.map(\.destination) == [nil])

        let terminal = try World()
        let other = try keeper(terminal, Array("whole\u{1b}[2J\n".utf8), Samples.completed(14))
        defer { other.stop() }
        let invocation = terminal.invocation(["get", "-o", "-", "http://a.example/1"], outputIsTerminal: true)
        #expect(await CommandLineProgram.run(invocation) == .whole)
        #expect(terminal.output.text == "whole\\x1b[2J\n")
    }

    @Test func `T8: get -o - writes neither binary files to a terminal nor bytes of failed downloads`()
        async throws
    {
        let terminal = try World()
        let service = try keeper(terminal, [1, 0, 2], Samples.completed(14))
        defer { service.stop() }
        let invocation = terminal.invocation(["get", "-o", "-", "http://a.example/1"], outputIsTerminal: true)
        #expect(await CommandLineProgram.run(invocation) == .failed)
        #expect(terminal.output.text.isEmpty && terminal.errors.text.contains("binary or longer than 1 MiB"))
        #expect(try actions(service) == [.cancel, .remove])

        let world = try World()
        var failed = Samples.failed()
        failed.id = TaskID(14)
        let other = try keeper(world, [1], failed)
        defer { other.stop() }
        #expect(await world.run("get", "-o", "-", "http://a.example/1") == .failed)
        #expect(world.output.text.isEmpty)
        #expect(try actions(other) == [.cancel, .remove])
    }

    @Test(arguments: [["--detach"], ["--json"], ["--app", "a", "--session", "s"], ["-d", "/tmp"]])
    func `T8: get -o - refuses options that use standard output or another process`(_ options: [String]) async throws {
        let world = try World()
        let arguments = ["get", "-o", "-"] + options + ["http://a.example/1"]
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
    }

    @Test func `get prints a wait reason that no event contains`() async throws {
        let world = try World()
        let questions = Watched(0)
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): return try .json(Samples.status)
            case ("POST", "/v1/tasks"): return try .json(EnqueueResponse(ids: [TaskID(14)]))
            case ("GET", "/v1/events"):
                // The stream waits until the second request. By then, get has printed the first answer.
                _ = questions.block { $0 > 1 }
                return try .events([.journal(Samples.entry(101, .completed, task: 14))], staysOpen: true)
            case ("GET", "/v1/tasks"):
                questions.update { $0 += 1 }
                var held = Samples.heldByHost(14)
                // The wait is already over, so get requests the reason again.
                held.wait?.until = Samples.now
                return try .json(TaskPage(tasks: [held], next: nil))
            case ("GET", "/v1/tasks/14"): return try .json(Samples.completed(14))
            default: throw Problem.notFound(request.path)
            }
        }
        defer { service.stop() }
        #expect(await world.run("get", "http://nxdomain.example/film%20one.mkv") == .whole)
        #expect(world.errors.text.contains("14 film one.mkv: waiting: host not found"), "\(world.errors.text)")
        #expect(world.errors.text.contains("nightshift cancel 14"))
    }

    /// Returns a service with one task. Each event stream gets the next of the replies, and all further streams get the
    /// last one.
    private func service(
        of world: World, streams replies: [@Sendable () throws -> ScriptedService.Reply]
    ) throws -> ScriptedService {
        let streams = Mutex(0)
        return try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): return try .json(Samples.status)
            case ("POST", "/v1/tasks"): return try .json(EnqueueResponse(ids: [TaskID(14)]))
            case ("GET", "/v1/events"):
                let number = streams.withLock { count in
                    defer { count += 1 }
                    return count
                }
                return try replies[min(number, replies.count - 1)]()
            case ("GET", "/v1/tasks/14"): return try .json(Samples.completed())
            default: throw Problem.notFound(request.path)
            }
        }
    }

    private func toldEvents(_ world: World) throws -> [String] {
        try world.output.text.split(separator: "\n").map { try JSON.decode(Line.self, from: Data($0.utf8)).event }
    }

    @Test func `get continues after the service has stopped and come back`() async throws {
        let world = try World()
        let service = try service(
            of: world,
            streams: [
                { try .events([.journal(Samples.entry(101, .started, task: 14))], staysOpen: false) }, { .hangUp },
                { throw Problem.unavailable("The service is stopping.") },
                { try .events([.journal(Samples.entry(102, .completed, task: 14))], staysOpen: true) },
            ])
        defer { service.stop() }
        #expect(await world.run("get", "--json", "http://a.example/1") == .whole)
        let ids = service.requests.filter { $0.path.hasPrefix("/v1/events") }.map { $0.headers["last-event-id"] }
        #expect(ids == ["100", "101", "101", "101"])
        let events = try toldEvents(world)
        #expect(events == ["accepted", "journal", "connectionLost", "connectionRestored", "journal", "ended"])
        #expect(world.errors.text.isEmpty)
    }

    @Test func `get reports a restored connection even without other events`() async throws {
        let world = try World()
        let service = try service(
            of: world,
            streams: [
                { .hangUp }, { .events([String](), staysOpen: false) },
                { try .events([.journal(Samples.entry(101, .completed, task: 14))], staysOpen: true) },
            ])
        defer { service.stop() }
        #expect(await world.run("get", "--json", "http://a.example/1") == .whole)
        let change = ["connectionLost", "connectionRestored"]
        #expect(try toldEvents(world) == ["accepted"] + change + change + ["journal", "ended"])
    }

    @Test func `get prints the accepted ids as JSON if a list fails in the middle`()
        async throws
    {
        let world = try World()
        let list = (0..<1_500).map { "http://a.example/\($0)\n" }.joined()
        try Data(list.utf8).write(to: world.root.appending(path: "list"))
        let posts = Mutex(0)
        let service = try world.service { request in
            guard request.method == "POST" else { return try .json(Samples.status) }
            let number = posts.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { throw Problem.unavailable("The service is stopping.") }
            return try .json(EnqueueResponse(ids: (1...1_000).map { TaskID($0) }))
        }
        defer { service.stop() }
        #expect(await world.run("get", "-i", world.path + "/list", "--detach", "--json") != .whole)
        // The ids are printed before the error.
        let lines = world.output.text.split(separator: "\n")
        let told = try JSON.decode(
            EnqueueResponse.self, from: Data(try #require(lines.first, "\(world.errors.text)").utf8))
        #expect(told.ids.count == 1_000)
    }

    @Test func `T5: put keeps the response to an upload, and never replaces a newer file with it`()
        async throws
    {
        let world = try World()
        try Data("hello".utf8).write(to: world.root.appending(path: "note"))
        let answer = world.root.appending(path: "answer")
        let task = Samples.completed()
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): return try .json(Samples.status)
            case ("POST", "/v1/tasks"): return try .json(EnqueueResponse(ids: [TaskID(14)]))
            case ("GET", "/v1/events"):
                return try .events([.journal(Samples.entry(101, .completed, task: 14))], staysOpen: true)
            case ("GET", "/v1/tasks/14/content"):
                try Data("mine".utf8).write(to: answer)
                return .json(200, Data("thanks".utf8))
            default: return try .json(task)
            }
        }
        defer { service.stop() }
        #expect(await world.run("put", "note", "http://a.example/in", "-q", "-o", "answer") == .whole)
        #expect(try Data(contentsOf: answer) == Data("mine".utf8))
        #expect(try Data(contentsOf: world.root.appending(path: "answer.1")) == Data("thanks".utf8))
        #expect(world.errors.text.contains("answer.1"))
        // With --force, put replaces a file and writes to a pipe.
        #expect(await world.run("put", "note", "http://a.example/in", "-q", "--force", "-o", "answer") == .whole)
        #expect(try Data(contentsOf: answer) == Data("thanks".utf8))
        #expect(mkfifo(world.path + "/pipe", 0o600) == 0)
        let reader = open(world.path + "/pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        #expect(await world.run("put", "note", "http://a.example/in", "-q", "--force", "-o", "pipe") == .whole)
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &bytes, bytes.count) == 6)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: world.path).allSatisfy { !$0.hasPrefix(".nightshift-") }
        )
    }

    @Test func `get reads all its transfers again after a reset event`() async throws {
        let world = try World()
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14), TaskID(16)]))
            case ("GET", "/v1/events"): try .events([.reset(lastEntry: 900)], staysOpen: true)
            case ("GET", "/v1/tasks/14"): try .json(Samples.completed())
            // The transfer was removed.
            default: throw Problem.notFound(request.path)
            }
        }
        defer { service.stop() }
        #expect(await world.run("get", "-q", "http://a.example/1", "http://a.example/2") == .failed)
        #expect(world.output.text == "/home/ada/Downloads/film one.mkv\n")
        #expect(world.errors.text == "nightshift: 16 2: removed from the list\n")
    }

    @Test func `get sends a long list in batches`() async throws {
        let world = try World()
        let next = Mutex<Int64>(0)
        let service = try world.service { request in
            guard request.method == "POST" else { return try .json(Samples.status) }
            let count = Int64(try JSON.decode(EnqueueRequest.self, from: request.body).tasks.count)
            let first = next.withLock { value in
                defer { value += count }
                return value + 1
            }
            return try .json(EnqueueResponse(ids: (first..<first + count).map { TaskID($0) }))
        }
        defer { service.stop() }
        let list = (0..<2_500).map { "http://a.example/\($0)\n" }.joined()
        try Data(list.utf8).write(to: world.root.appending(path: "list"))
        #expect(await world.run("get", "--detach", "-i", world.path + "/list") == .whole)
        #expect(world.output.text.split(separator: "\n").map { String($0) } == (1...2_500).map { String($0) })
        #expect(service.requests.filter { $0.method == "POST" }.count == 3)

        try Data((list + "nonsense\n").utf8).write(to: world.root.appending(path: "list"))
        #expect(await world.run("get", "--detach", "-i", world.path + "/list") == .usage)
        #expect(world.errors.text.contains("line 2501:"))
        #expect(service.requests.filter { $0.method == "POST" }.count == 3)
    }

    @Test func `The output and exit code reflect the type of the service's problem`() async throws {
        let world = try World()
        let service = try world.service { request in throw Problem.notFound("There is no task 7.\u{1b}[2J") }
        defer { service.stop() }
        #expect(await world.run("why", "7") == .failed)
        #expect(world.errors.text == "nightshift: There is no task 7.\\x1b[2J\n")
        let other = try World()
        let otherService = try other.service { request in throw Problem.unavailable("The disk is full.") }
        defer { otherService.stop() }
        #expect(await other.run("list", "--json") == .unreachable)
        let report = try JSON.decode(Report.self, from: Data(other.errors.text.utf8))
        #expect(report.type == "/problems/unavailable" && report.status == 503 && report.detail == "The disk is full.")
    }

    @Test func `list --json joins all pages into one JSON document`() async throws {
        let world = try World()
        let service = try world.service { request in
            if request.path.contains("after=12") { return try .json(TaskPage(tasks: [Samples.failed()], next: nil)) }
            return try .json(TaskPage(tasks: [Samples.running()], next: TaskID(12)))
        }
        defer { service.stop() }
        #expect(await world.run("list", "--all", "--json") == .whole)
        let page = try JSON.decode(TaskPage.self, from: Data(world.output.text.utf8))
        #expect(page.tasks == [Samples.running(), Samples.failed()])

        let empty = try World()
        let emptyService = try empty.service { _ in try .json(TaskPage(tasks: [], next: nil)) }
        defer { emptyService.stop() }
        #expect(await empty.run("list", "--json") == .whole)
        #expect(empty.output.text == "{\"tasks\":[]}\n")
        #expect(emptyService.requests.first?.path == "/v1/tasks?state=suspended,waiting,running,finishing&limit=1000")
    }

    @Test func `resume reports the transfers that the service refuses to resume`() async throws {
        let world = try World()
        let service = try world.service { _ in
            try .json(
                TaskActionAnswer(results: [
                    TaskActionResult(id: TaskID(12), task: Samples.running(12)),
                    TaskActionResult(id: TaskID(13), problem: .conflict("It has ended.")),
                ]))
        }
        defer { service.stop() }
        #expect(await world.run("resume", "12-13") == .failed)
        #expect(world.output.text == "12 film one.mkv: resumed\n")
        #expect(world.errors.text == "nightshift: 13: It has ended.\n")
        #expect(service.requests.map(\.path) == ["/v1/actions"] && service.requests[0].method == "POST")
        #expect(String(decoding: service.requests[0].body, as: UTF8.self) == #"{"action":"resume","tasks":[12,13]}"#)
    }

    @Test func `The client reads a very long response`() async throws {
        var task = Samples.running(12)
        task.response = ResponseSummary(
            status: 200, headers: [HeaderField(name: "X", value: String(repeating: "x", count: 17 << 20))],
            httpVersion: "1.1")
        let answer = try JSON.encode(TaskActionAnswer(results: [TaskActionResult(id: TaskID(12), task: task)]))
        let world = try World()
        let service = try world.service { _ in .json(200, answer) }
        defer { service.stop() }
        #expect(await world.run("resume", "12") == .whole)
        #expect(world.output.text == "12 film one.mkv: resumed\n")
    }

    @Test func `remove sends few requests for many transfers`() async throws {
        let world = try World()
        let service = try world.service { request in
            let asked = try JSON.decode(TaskActionRequest.self, from: request.body)
            guard asked.action == .remove, asked.tasks.count <= Limits.tasksPerAction else { return .hangUp }
            return try .json(TaskActionAnswer(results: asked.tasks.map { TaskActionResult(id: $0) }))
        }
        defer { service.stop() }
        #expect(await world.run("remove", "1-20000", "--json") == .whole)
        #expect(service.requests.count == 20)
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(world.output.text.utf8)) as? [String: Any])
        #expect((document["removed"] as? [Int]) == Array(1...20_000))
    }

    @Test func `A command fails if its output cannot be written`() async throws {
        let world = try World()
        let service = try world.service { request in
            request.method == "POST" ? try .json(EnqueueResponse(ids: [TaskID(20)])) : try .json(Samples.status)
        }
        defer { service.stop() }
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        for arguments in [["get", "--detach", "http://a.example/1"], ["status", "--json"], ["--version"]] {
            var invocation = world.invocation(arguments)
            invocation.output = Output(descriptor: full, environment: [:])
            #expect(await CommandLineProgram.run(invocation) == .failed, "\(arguments)")
        }
        let said = "Not all of the output could be written: No space left on device."
        let lines = world.errors.text.split(separator: "\n")
        #expect(lines.count == 4 && lines.allSatisfy { $0.contains(said) || $0.contains("was accepted") })
        #expect(lines.first == "1 transfer was accepted before the error. It continues: 20.")
    }

    @Test func `The client writes all of its output to a non-blocking descriptor`() throws {
        var ends: [Int32] = [0, 0]
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        try #require(socketpair(AF_UNIX, Int32(type), 0, &ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        let output = Output(descriptor: writing, environment: [:])
        let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) })
        Thread.detachNewThread {
            output.write(bytes)
            close(writing)
        }
        var read = Data()
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            var place = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            poll(&place, 1, -1)
            let count = Glibc.read(reading, &piece, piece.count)
            if count < 0 && errno == EAGAIN { continue }
            guard count > 0 else { break }
            read += piece[..<count]
        }
        #expect(read == bytes && output.failure() == nil)
    }

    @Test func `limit sends a PATCH request, and set sends an action`() async throws {
        let world = try World()
        let service = try world.service { request in
            if request.path == "/v1/settings" { return try .json(Samples.status.settings) }
            let asked = try JSON.decode(TaskActionRequest.self, from: request.body)
            return try .json(
                TaskActionAnswer(results: asked.tasks.map { TaskActionResult(id: $0, task: Samples.running()) }))
        }
        defer { service.stop() }
        #expect(await world.run("limit", "2M", "--transfers", "16") == .whole)
        #expect(await world.run("set", "12", "--priority", "0.9", "--limit-rate", "none") == .whole)
        #expect(service.requests.map(\.method) == ["PATCH", "POST"])
        let bodies = service.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(
            bodies == [
                #"{"maximumTransfers":16,"rateLimit":2097152}"#,
                #"{"action":"change","change":{"priority":0.9,"rateLimit":0},"tasks":[12]}"#,
            ])
        #expect(await world.run("set", "1-2000", "--priority", "0.1") == .whole)
        #expect(service.requests.count == 2 + 2)
    }

    @Test func `B2: retarget prints the new URL, and how to resume a paused transfer`() async throws {
        var task = Samples.running()
        task.url = "https://new.example/film.mkv"
        task.state = .suspended
        let paused = task
        let world = try World()
        let service = try world.service { request in
            request.method == "POST" ? try .json(paused) : try .json(Samples.status)
        }
        defer { service.stop() }
        #expect(await world.run("retarget", "12", paused.url, "-H", "X: y", "--user", "ada:s:t") == .whole)
        #expect(
            world.output.text
                == "12: https://new.example/film.mkv; it is paused. Continue it with: nightshift resume 12\n")
        let kept = "The 700 MiB on disk are kept if the file at the new URL is the same."
        #expect(world.errors.text == "\(kept) 'nightshift why 12' says what happened.\n")
        task.countOfBytesReceived = 0
        #expect(RetargetCommand.note(task) == "No data is on disk, so the download starts from the beginning.")
        let request = try #require(service.requests.last)
        #expect(request.path == "/v1/tasks/12/retarget")
        let body = try JSON.decode(RetargetRequest.self, from: request.body)
        #expect(body.url == paused.url && body.headers == [HeaderField(name: "X", value: "y")])
        #expect(body.credential == Credential(user: "ada", password: "s:t"))
        #expect(await world.run("retarget", "12", "ftp://bob:secret@a.example/x") == .usage)
        #expect(!world.errors.text.contains("secret"))
    }

    @Test func `get --continue resumes a download that cancel --keep has ended`() async throws {
        var kept = Samples.failed(12)
        kept.state = .cancelled
        kept.resumeData = "token-1"
        let task = kept
        let world = try World()
        let service = try world.service { request in
            switch (request.method, request.path) {
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(20)]))
            case ("POST", "/v1/actions"):
                try .json(TaskActionAnswer(results: [TaskActionResult(id: TaskID(12), task: task)]))
            case (_, "/v1/status"): try .json(Samples.status)
            default: try .json(task)
            }
        }
        defer { service.stop() }
        #expect(await world.run("cancel", "--keep", "12") == .whole)
        #expect(world.errors.text.contains("nightshift get --continue 12"))
        let asked = try JSON.decode(TaskActionRequest.self, from: service.requests.first?.body ?? Data())
        #expect(asked.action == .cancel && asked.tasks == [TaskID(12)] && asked.producingResumeData == true)
        #expect(await world.run("get", "--continue", "12", "--detach", "--json") == .whole)
        let posted = try #require(service.requests.last { $0.path == "/v1/tasks" })
        let request = try #require(try JSON.decode(EnqueueRequest.self, from: posted.body).tasks.first)
        #expect(request.resumeData == "token-1" && request.url == nil)
        #expect(request.destination?.directory == "/home/ada/Downloads")
        #expect(world.output.text.hasSuffix("{\"ids\":[20]}\n"))
    }

    @Test func `get --continue says what to do with a transfer whose data was not kept`() async throws {
        var paused = Samples.failed(13)
        paused.state = .suspended
        let tasks = [TaskID(12): Samples.failed(12), TaskID(13): paused]
        let world = try World()
        let service = try world.service { request in
            guard let task = tasks.first(where: { request.path == "/v1/tasks/\($0.key)" }) else {
                return try .json(Samples.status)
            }
            return try .json(task.value)
        }
        defer { service.stop() }
        #expect(await world.run("get", "--continue", "12") == .failed)
        #expect(world.errors.text.contains("To start it again, run: nightshift retry 12"))
        #expect(await world.run("get", "--continue", "13") == .failed)
        #expect(world.errors.text.contains("To continue it, run: nightshift resume 13"))
    }

    @Test func `put prints the response of the server`() async throws {
        var sent = Samples.completed(14)
        sent.kind = .upload
        let task = sent
        let world = try World()
        try Data("hello".utf8).write(to: world.root.appending(path: "note"))
        let service = try world.service { request in
            switch (request.method, request.path.prefix { $0 != "?" }) {
            case ("GET", "/v1/status"): try .json(Samples.status)
            case ("POST", "/v1/tasks"): try .json(EnqueueResponse(ids: [TaskID(14)]))
            case ("GET", "/v1/events"):
                try .events([.journal(Samples.entry(101, .completed, task: 14))], staysOpen: true)
            case ("GET", "/v1/tasks/14/content"): .json(200, Data("thanks\u{1b}".utf8))
            default: try .json(task)
            }
        }
        defer { service.stop() }
        #expect(await world.run("put", "-X", "POST", "note", "http://a.example/in", "-q") == .whole)
        #expect(world.output.text == "thanks\u{1b}")
        let posted = try #require(service.requests.first { $0.method == "POST" })
        let request = try #require(try JSON.decode(EnqueueRequest.self, from: posted.body).tasks.first)
        #expect(request.kind == .upload && request.method == "POST" && request.source == world.path + "/note")
        #expect(await world.run("put", "note", "http://a.example/in", "-q", "-o", "answer") == .whole)
        #expect(try Data(contentsOf: world.root.appending(path: "answer")) == Data("thanks\u{1b}".utf8))
        #expect(await world.run("put", "missing", "http://a.example/in") == .failed)
        #expect(await world.run("put", "--form", "a=@missing", "http://a.example/in") == .failed)
        let fields = ["--form", "t=x", "--form", "f=@note;type=a/b"]
        #expect(
            await CommandLineProgram.run(world.invocation(["put", "-q"] + fields + ["http://a.example/in"])) == .whole)
        let form = try #require(service.requests.last { $0.method == "POST" })
        let uploaded = try #require(try JSON.decode(EnqueueRequest.self, from: form.body).tasks.first)
        #expect(uploaded.source == nil && uploaded.url == "http://a.example/in")
        #expect(
            uploaded.form == [
                FormField(name: "t", value: "x"),
                FormField(name: "f", source: world.path + "/note", contentType: "a/b"),
            ])
    }

    @Test(arguments: [(Samples.completed(), CLI.ExitStatus.whole), (Samples.failed(), .failed)])
    func `The exit code of wait tells whether the transfers succeeded`(_ task: TaskStatus, _ status: CLI.ExitStatus)
        async throws
    {
        let world = try World()
        let service = try world.service { request in
            request.path == "/v1/status" ? try .json(Samples.status) : try .json(task)
        }
        defer { service.stop() }
        #expect(await world.run("wait", "\(task.id)", "--json") == status)
        #expect(try JSON.decode(TaskPage.self, from: Data(world.output.text.utf8)).tasks == [task])
    }

    @Test func `watch prints a sentence if all transfers have ended`() async throws {
        let world = try World()
        let service = try world.service { request in
            request.path == "/v1/status" ? try .json(Samples.status) : try .json(TaskPage(tasks: [], next: nil))
        }
        defer { service.stop() }
        #expect(await world.run("watch") == .whole)
        #expect(world.errors.text == "There are no unfinished transfers.\n")
    }

    private struct Report: Decodable {
        var type: String
        var status: Int?
        var detail: String
        var exitCode: Int32
    }

    private struct Line: Decodable {
        var event: String
    }
}
