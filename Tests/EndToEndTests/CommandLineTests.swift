import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of `nightshift` as people and scripts use it. It starts the real service itself.
@Suite struct CommandLineTests {
    @Test("T2: get starts the service if none runs, and downloads the complete file")
    func getStartsService() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let content = Content.seeded(size: 3 << 20, seed: 1)
        origin.serve("/big.bin", Resource(content: content))
        let outcome = try await service.cli(["get", origin.url("/big.bin")])
        let processID = try await service.api.status().processID
        defer { kill(processID, SIGKILL) }
        #expect(outcome.code == 0, "\(outcome)")
        #expect(outcome.output == service.scratch.path("big.bin") + "\n")
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("big.bin")) == nil)
        #expect(try await service.cli(["service", "stop"]).code == 0)
        try await eventually("the end of the service") { kill(processID, 0) != 0 }
    }

    @Test("T2: The exit code distinguishes complete files, a failed transfer and invalid usage")
    func exitCodes() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        origin.serve("/there", .text("here"))
        #expect(try await service.cli(["get", origin.url("/there"), "-o", "one"]).code == 0)
        let both = [origin.url("/there"), origin.url("/missing")]
        let missing = try await service.cli(["get", "-d", service.scratch.path] + both)
        #expect(missing.code == 1, "\(missing)")
        #expect(missing.errors.contains("404"))
        #expect(!FileManager.default.fileExists(atPath: service.scratch.path("missing")))
        #expect(FileManager.default.fileExists(atPath: service.scratch.path("there")))
        #expect(try await service.cli(["get"]).code == 2)
        #expect(try await service.cli(["get", "gopher://example.org/"]).code == 2)
        #expect(try await service.cli(["get", origin.url("/there"), "--checksum", "sha-256:12"]).code == 2)
        #expect(try await service.cli(["show", "999"]).code == 1)
    }

    @Test("T2: get reports a service that refuses to start as unreachable, and shows its message")
    func unreachable() async throws {
        let service = try Service()
        try await service.start()
        #expect(try await service.stop() == .code(0))
        for name in service.names(in: service.paths.state.path) where name.hasPrefix("nightshift.sqlite") {
            try FileManager.default.removeItem(atPath: "\(service.paths.state.path)/\(name)")
        }
        let outcome = try await service.cli(["list"])
        #expect(outcome.code == 3, "\(outcome)")
        #expect(outcome.errors.contains("nightshift.sqlite"), "\(outcome.errors)")
    }

    @Test("T4: --checksum verifies the whole file, and get leaves no file that does not match")
    func checksums() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let content = Content.seeded(size: 2 << 20, seed: 5)
        origin.serve("/f", Resource(content: content))
        let right = "sha-256:" + content.sha256().hex
        let wrong = "sha-256:" + String(repeating: "ab", count: 32)
        #expect(try await service.cli(["get", origin.url("/f"), "-o", "right", "--checksum", right]).code == 0)
        let outcome = try await service.cli(["get", origin.url("/f"), "-o", "wrong", "--checksum", wrong])
        #expect(outcome.code == 1, "\(outcome)")
        #expect(FileManager.default.fileExists(atPath: service.scratch.path("right")))
        #expect(!FileManager.default.fileExists(atPath: service.scratch.path("wrong")))
    }

    @Test("T4: get replaces an existing file only with --force")
    func existingFile() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        origin.serve("/f", .text("new"))
        let path = try service.scratch.write("old", to: "f")
        #expect(try await service.cli(["get", origin.url("/f"), "-o", "f"]).code == 1)
        #expect(try fileBytes(path) == Array("old".utf8))
        let beside = try await service.cli(["get", origin.url("/f"), "-d", "."])
        #expect(beside.code == 0)
        #expect(try fileBytes(path) == Array("old".utf8))
        let other = beside.output.trimmingCharacters(in: .newlines)
        #expect(other != path)
        #expect(try fileBytes(other) == Array("new".utf8))
        #expect(try await service.cli(["get", origin.url("/f"), "-o", "f", "--force"]).code == 0)
        #expect(try fileBytes(path) == Array("new".utf8))
    }

    @Test("T6: get reads a list of URLs from a file or from standard input")
    func lists() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        for number in 0..<60 { origin.serve("/l/\(number)", .text("number \(number)")) }
        let all = (0..<60).map { origin.url("/l/\($0)") }
        let list = try service.scratch.write("# mine\n\n" + all[..<30].joined(separator: "\n"), to: "list")
        #expect(try await service.cli(["get", "-i", list, "-d", "."]).code == 0)
        let rest = all[30...].joined(separator: "\n") + "\n"
        #expect(try await service.cli(["get", "-i", "-", "-d", "."], input: rest).code == 0)
        for number in 0..<60 {
            #expect(try fileBytes(service.scratch.path("\(number)")) == Array("number \(number)".utf8))
        }
    }

    @Test(
        "T6: get reports each of many files once, and does not wait for removed tasks"
    )
    func manyEnds() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        try await service.start()
        for number in 0..<120 { origin.serve("/m/\(number)", .text("number \(number)")) }
        origin.serve(
            "/m/7", Resource(content: .seeded(size: 2 << 20, seed: 7), behaviours: [.holdAfter(1 << 20, gate)]))
        origin.serve("/m/9", .text("none", .status(404)))
        let list = try service.scratch.write(
            (0..<120).map { origin.url("/m/\($0)") }.joined(separator: "\n"), to: "list")
        let said = service.scratch.path("said")
        let get = try service.startCLI(["get", "-i", list, "-d", "."], output: said)
        func told() throws -> [String] {
            String(decoding: try fileBytes(said), as: UTF8.self).split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix(service.scratch.path("")) }
        }
        try await eventually("118 files") { (try? told().count) == 118 }
        let some = try await service.api.get("/v1/tasks?task=10,8,4000", as: TaskPage.self).tasks
        #expect(some.map(\.id) == [TaskID(8), TaskID(10)] && some[0].state == .running)
        gate.open()
        _ = try await get.waitForExit()
        #expect(get.exit == .code(1))
        #expect(try Set(told()).count == 119 && told().count == 119)
    }

    /// For small files that arrive at once, the service writes only one journal entry, at their end.
    @Test func `B1: The journal reports the start of a small, slow file before the file's end`() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        try await service.start()
        let content = Content.seeded(size: 5_000, seed: 6)
        origin.serve("/f", Resource(content: content, behaviours: [.holdFrom(1_000, gate)]))
        let id = try await service.api.enqueue(.download(origin.url("/f"), to: service.scratch.path, named: "f"))
        func entries() async throws -> [JournalEntry] {
            try await service.api.get("/v1/journal?task=\(id)", as: JournalPage.self).entries
        }
        try await eventually("the journal to say that it began") {
            try await entries().contains { $0.decision == .started }
        }
        #expect(try await service.api.task(id).state == .running)
        gate.open()
        #expect(try await service.waitForEnd(id).state == .completed)
        let times = try await entries().map(\.time)
        #expect(times == times.sorted())
    }

    @Test("T2: --detach, why, cancel --keep, get --continue and wait work together")
    func detached() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let (content, gate) = (Content.seeded(size: 6 << 20, seed: 6), Gate())
        origin.serve("/f", Resource(content: content, behaviours: [.holdFrom(4 << 20, gate)]))
        let detach = try await service.cli(["get", origin.url("/f"), "-o", "f", "--detach", "--connections", "1"])
        #expect(detach.code == 0)
        let id = detach.output.trimmingCharacters(in: .newlines)
        let number = TaskID(try #require(Int64(id)))
        try await service.wait(number, for: "4 MiB") { $0.countOfBytesReceived == 4 << 20 }
        let why = try await service.cli(["why", id])
        #expect(why.code == 0)
        #expect(why.output.contains("running"), "\(why.output)")
        let cancel = try await service.cli(["cancel", "--keep", id])
        #expect(cancel.code == 0)
        gate.open()
        let rest = try await service.cli(["get", "--continue", id, "--detach"])
        #expect(rest.code == 0, "\(rest)")
        #expect(try await service.cli(["wait", rest.output.trimmingCharacters(in: .newlines)]).code == 0)
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("f")) == nil)
        #expect(try await service.cli(["wait", id]).code == 1, "it was cancelled")
        #expect(origin.requests(for: "/f").last?.field("Range") == "bytes=\(4 << 20)-")
    }

    @Test("T2: After ^C the service continues the transfer, and get says how to resume it")
    func interrupt() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let (content, gate) = (Content.seeded(size: 1 << 20, seed: 7), Gate())
        origin.serve("/f", Resource(content: content, behaviours: [.holdAfter(500_000, gate)]))
        let said = service.scratch.path("said")
        let get = try service.startCLI(["get", origin.url("/f"), "-o", "f"], output: said)
        try await origin.waitForRequest(for: "/f")
        // Until the command follows its task, ^C ends it like any other command.
        try await eventually("the command's care for SIGINT") { takesInterrupts(get.pid) }
        get.kill(SIGINT)
        _ = try await get.waitForExit()
        #expect(get.exit == .code(130))
        #expect(String(decoding: try fileBytes(said), as: UTF8.self).contains("nightshift "))
        gate.open()
        #expect(try await service.waitForEnd(TaskID(1)).state == .completed)
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("f")) == nil)
    }

    @Test("After ^C the same command follows the same transfer")
    func repeated() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        try await service.start()
        let content = Content.seeded(size: 1 << 20, seed: 8)
        origin.serve("/f", Resource(content: content, behaviours: [.holdAfter(500_000, gate)]))
        let get = try service.startCLI(["get", origin.url("/f")], output: service.scratch.path("said"))
        try await origin.waitForRequest(for: "/f")
        try await eventually("the command's care for SIGINT") { takesInterrupts(get.pid) }
        get.kill(SIGINT)
        _ = try await get.waitForExit()
        #expect(get.exit == .code(130))
        let said = service.scratch.path("said again")
        let again = try service.startCLI(["get", origin.url("/f")], output: said)
        try await eventually("the command to follow the transfer") {
            (try? String(contentsOfFile: said, encoding: .utf8))?.contains("Transfer 1 is already downloading") == true
        }
        gate.open()
        _ = try await again.waitForExit()
        #expect(again.exit == .code(0))
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("f")) == nil)
        #expect(try await service.api.get("/v1/tasks", as: TaskPage.self).tasks.count == 1)
    }

    @Test(
        "After ^C or a closed terminal, a repeated download to standard output resumes",
        arguments: [SIGINT, SIGHUP])
    func repeatedToStandardOutput(signal: Int32) async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(), Gate())
        defer { gate.open() }
        try await service.start()
        let content = Content.seeded(size: 6 << 20, seed: 9)
        origin.serve("/f", Resource(content: content, behaviours: [.holdFrom(4 << 20, gate)]))
        let arguments = ["get", "-o", "-", "--connections", "1", origin.url("/f")]
        let get = try service.startCLI(arguments, output: service.scratch.path("said"))
        try await service.wait(TaskID(1), for: "4 MiB") { $0.countOfBytesReceived == 4 << 20 }
        try await eventually("the command's care for SIGINT") { takesInterrupts(get.pid) }
        get.kill(signal)
        _ = try await get.waitForExit()
        #expect(get.exit == .code(130))
        #expect(try await service.api.task(TaskID(1)).state == .suspended)
        gate.open()
        let again = try await service.cli(arguments, redirecting: ">whole")
        #expect(again.code == 0 && again.errors.hasPrefix("Continuing transfer 1.\n"), "\(again)")
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("whole")) == nil)
        #expect(origin.requests(for: "/f").last?.field("Range") == "bytes=\(4 << 20)-")
        #expect(try await service.api.get("/v1/tasks", as: TaskPage.self).tasks.isEmpty)
    }

    @Test("T2: Responses, lists and logs contain no credentials")
    func secrets() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        try await service.start()
        let secret = "pa55-\(UInt64.random(in: 0...UInt64.max))"
        let token = "tok-\(UInt64.random(in: 0...UInt64.max))"
        origin.serve("/f", .text("secret file", .requireBasic(user: "me", password: secret)))
        origin.serve("/token", .text("also"))
        origin.serve("/refused", .text("no", .status(500)))
        #expect(try await service.cli(["get", origin.url("/f"), "-o", "f", "--user", "me:\(secret)"]).code == 0)
        let inURL = origin.url("/f").replacing("http://", with: "http://me:\(secret)@")
        #expect(try await service.cli(["get", inURL, "-o", "g"]).code == 0)
        let header = ["-H", "Authorization: Bearer \(token)"]
        #expect(try await service.cli(["get", origin.url("/token"), "-o", "h"] + header).code == 0)
        #expect(origin.requests(for: "/token").last?.field("Authorization") == "Bearer \(token)")
        let failing = try await service.cli(["get", origin.url("/refused"), "--detach"] + header)
        try await service.wait(TaskID(4), for: "an error") { $0.lastError != nil }
        #expect(failing.code == 0)
        var said: [String] = []
        for id in 1...4 {
            for command in ["show", "why"] {
                for format in [[], ["--json"]] {
                    let outcome = try await service.cli([command, "\(id)"] + format)
                    #expect(outcome.code == 0, "\(command): \(outcome)")
                    said.append(outcome.output + outcome.errors)
                }
            }
        }
        said.append(try await service.cli(["list", "--json"]).output)
        said.append(try await service.cli(["list"]).output)
        said.append(String(decoding: try await service.api.send("GET", "/v1/journal?limit=1000"), as: UTF8.self))
        said.append(service.log)
        for text in said {
            #expect(!text.contains(secret) && !text.contains(token), "\(text)")
            #expect(!text.contains(Array("me:\(secret)".utf8).base64), "\(text)")
        }
    }

    @Test(
        "B3: A descriptor closed at the start opens as /dev/null, and no other file takes it",
        arguments: [">&-", "<&- >&- 2>&-"])
    func closedDescriptors(redirecting: String) async throws {
        let service = try Service()
        let trace = try service.scratch.write("{\"at\": 60, \"end\": true}\n", to: "trace.jsonl")
        let outcome = try await service.cli(["simulate", trace, "-o", "picture.svg"], redirecting: redirecting)
        #expect(outcome.code == 0, "\(outcome)")
        #expect(FileManager.default.fileExists(atPath: service.scratch.path("picture.svg")))

        try await service.start(under: ["sh", "-c", "exec \"$0\" \(redirecting)"])
        let processID = try await service.api.status().processID
        let output = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/fd/1")
        #expect(output == "/dev/null")
    }

    @Test("T2: A command whose output cannot be written fails")
    func fullOutput() async throws {
        let service = try Service()
        try await service.start()
        for arguments in [["list", "--json"], ["journal", "--json"], ["timeline", "-o", "-"]] {
            let outcome = try await service.cli(arguments, redirecting: ">/dev/full")
            #expect(outcome.code == 1, "\(arguments): \(outcome)")
            #expect(outcome.errors.contains("No space left on device"), "\(arguments): \(outcome)")
        }
    }

    /// Returns whether the process handles, blocks or ignores SIGINT, so that the signal does not kill it.
    private func takesInterrupts(_ pid: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        return status.split(separator: "\n").contains { line in
            let words = line.split(separator: "\t")
            guard words.count == 2, ["SigCgt:", "SigBlk:"].contains(words[0]) else { return false }
            return (UInt64(words[1], radix: 16) ?? 0) & 1 << UInt64(SIGINT - 1) != 0
        }
    }
}
