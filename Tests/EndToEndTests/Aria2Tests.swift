import Foundation
import NightshiftAPI
import NightshiftCurl
import TestSupport
import Testing

/// Tests of the bridge for clients of aria2, with the real service, and clients that others wrote.
@Suite(.serialized, .timeLimit(.minutes(30))) struct Aria2Tests {
    private struct Download: Decodable {
        var gid: String
        var status: String
        var errorMessage: String?
    }

    private struct Settings: Decodable {
        var secret: String
    }

    /// A member of `system.multicall`.
    private struct Member: Encodable {
        var methodName = "aria2.addUri"
        var params: [Parameter]
    }

    private enum Parameter: Encodable {
        case text(String)
        case list([String])
        case options([String: String])
        case number(Int)
        case members([Member])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .list(let list): try container.encode(list)
            case .options(let options): try container.encode(options)
            case .number(let number): try container.encode(number)
            case .members(let members): try container.encode(members)
            }
        }
    }

    private static let token = Parameter.text("token:" + BridgeProcess.secret)

    /// The result of a member: a list with one value, or an error.
    private enum MemberResult: Decodable {
        case value(String)
        case refusal(BridgeProcess.Refusal)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let values = try? container.decode([String].self), let value = values.first {
                self = .value(value)
            } else {
                self = .refusal(try container.decode(BridgeProcess.Refusal.self))
            }
        }
    }

    @Test func `B7: A thousand downloads arrive once each, whatever is killed`() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let (count, size) = (1_000, Int64(20_000))
        let content = Content.seeded(size: size, seed: 39)
        let folder = service.scratch.path("files")
        try await service.start()
        let bridge = try BridgeProcess(home: service.home)
        try await bridge.start()
        let gids = (1...count).map { number in String(format: "%016x", number) }
        for gid in gids { origin.serve("/\(gid)", Resource(content: content)) }
        // A client that repeats a call with its own GIDs adds no download twice.
        var unknown = Set(gids)
        var generator = SplitMix64(seed: 39)
        var kills = 0
        while !unknown.isEmpty {
            let batch = Array(unknown.sorted().prefix(100))
            let members = batch.map { gid in
                Member(params: [
                    Self.token, .list([origin.url("/\(gid)")]), .options(["gid": gid, "dir": folder, "out": gid]),
                ])
            }
            let victim = kills.isMultiple(of: 2) ? bridge.processID : try? await service.api.status().processID
            let delay = Duration.milliseconds(Int.random(in: 0...60, using: &generator))
            let killing = Task { [kills] in
                guard kills < Self.kills, let victim else { return }
                try await passTime(delay, because: "a kill comes at any moment")
                kill(victim, SIGKILL)
            }
            let results = try? await bridge.call(
                "system.multicall", [Parameter.members(members)], as: [MemberResult].self)
            try await killing.value
            for (gid, result) in zip(batch, results ?? []) {
                switch result {
                case .value(gid): unknown.remove(gid)
                case .refusal(let refusal) where refusal.message.contains("already used"): unknown.remove(gid)
                default: break
                }
            }
            guard kills < Self.kills else { continue }
            // The bridge starts the service with the next call.
            if kills.isMultiple(of: 2) {
                try await bridge.kill()
                try await bridge.start()
            }
            kills += 1
        }
        var stopped: [Download] = []
        try await eventually("the ends of all downloads", within: .seconds(300)) {
            let found = try? await bridge.call(
                "aria2.tellStopped", [Self.token, .number(0), .number(count * 2)], as: [Download].self)
            stopped = found ?? []
            return stopped.count >= count
        }
        try await end(service)
        #expect(stopped.map(\.gid).sorted() == gids)
        #expect(stopped.allSatisfy { $0.status == "complete" })
        #expect(service.names(in: folder).sorted() == gids)
        for gid in gids { #expect(try content.firstMismatch(inFileAt: folder + "/" + gid) == nil) }
    }

    /// Runs a client that others wrote, or the comparison with aria2, against the bridge. `Tests/Peers/aria2/run.sh`
    /// describes the parts.
    @Test(arguments: ["differential", "suite", "aria2p", "aioaria2", "xmlrpc", "ariang", "hostile"])
    func `B7: Clients that others wrote work with the bridge as with aria2`(part: String) async throws {
        let programs = URL(filePath: Programs.daemon).deletingLastPathComponent().path
        var environment = ProcessInfo.processInfo.environment
        environment["NIGHTSHIFT_PROGRAMS"] = programs
        environment["PATIENCE"] = "6"
        let outcome = try await ChildProcess.run(
            "\(Programs.source)/Tests/Peers/aria2/run.sh", [part], environment: environment, within: .seconds(900))
        #expect(outcome.code == 0, "\(outcome.output)\n\(outcome.errors)")
    }

    @Test func `B7: A second bridge is refused, and does not change the secret of the first one`() async throws {
        let service = try Service()
        let bridge = try BridgeProcess(home: service.home)
        try await bridge.start()
        let file = service.paths.state.appending(path: "aria2.json").path
        let before = try fileBytes(file)
        let second = try await ChildProcess.run(
            Programs.daemon, ["aria2", "--port", "0"],
            environment: ["NIGHTSHIFT_HOME": service.home, "NIGHTSHIFT_ARIA2_SECRET": "other"])
        #expect(second.code == 1 && second.errors.contains("already runs"), "\(second)")
        #expect(try fileBytes(file) == before)
    }

    @Test func `B7: The bridge leaves a stopped service stopped, and notifies once it runs again`() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        let (content, gate) = (Content.seeded(size: 50_000, seed: 40), Gate())
        origin.serve("/whole", Resource(content: content))
        origin.serve("/held", Resource(content: content, behaviours: [.holdAfter(10_000, gate)]))
        try await service.start()
        let bridge = try BridgeProcess(home: service.home)
        try await bridge.start()
        let received = service.scratch.path("notifications")
        let listener = try bridge.listener(output: received)
        defer { listener.kill(SIGKILL) }
        let count = { (text: String) in
            ((try? String(contentsOfFile: received, encoding: .isoLatin1)) ?? "").components(separatedBy: text).count
                - 1
        }
        try await eventually("the WebSocket") { count(" 101 ") == 1 }
        let options = Parameter.options(["dir": service.scratch.path("files")])
        for path in ["/whole", "/held"] {
            _ = try await bridge.call(
                "aria2.addUri", [Self.token, .list([origin.url(path)]), options], as: String.self)
        }
        try await eventually("the end of the first download") { count("aria2.onDownloadComplete") == 1 }
        try await end(service)
        try await passTime(.seconds(2), because: "a bridge that starts the service does so at once")
        await #expect(throws: (any Error).self) { try await service.api.status() }
        try await service.start()
        gate.open()
        try await eventually("the end of the second download") { count("aria2.onDownloadComplete") == 2 }
        // A download that had to wait after the restart starts a second time.
        #expect((2...3).contains(count("aria2.onDownloadStart")))
        try await service.stop()
    }

    @Test func `B7: A call that ends the bridge is answered before the end`() async throws {
        let service = try Service()
        let bridge = try BridgeProcess(home: service.home)
        // The bridge once closed the connection before one of six answers.
        for _ in 1...40 {
            try await bridge.start()
            // The responses to other clients must not end the bridge before its own answer.
            let others = (0..<8).map { _ in
                Task { while (try? await bridge.call("system.listMethods", [String](), as: [String].self)) != nil {} }
            }
            #expect(try await bridge.call("aria2.shutdown", [Self.token], as: String.self) == "OK")
            try await bridge.waitForEnd()
            for other in others { await other.value }
        }
        // No call needed the service.
        await #expect(throws: (any Error).self) { try await service.api.status() }
    }

    @Test func `B7: A bridge with a socket of systemd writes no secret to the journal`() async throws {
        let service = try Service()
        let (output, port) = (service.scratch.path("journal"), try freePort())
        // What systemd does: the listening socket is the descriptor 3 (sd_listen_fds(3)).
        let script = """
            import os, socket, sys
            listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.execv(sys.argv[2], [sys.argv[2], "aria2"])
            """
        try await service.start()
        let process = try ChildProcess(
            "python3", arguments: ["-c", script, "\(port)", Programs.daemon],
            environment: ["NIGHTSHIFT_HOME": service.home, "HOME": service.scratch.path, "PATH": "/usr/bin:/bin"],
            output: .file(output), errors: .file(output))
        try await eventually("an answer of the bridge", within: .seconds(60)) {
            let request = CurlRequest(url: "http://127.0.0.1:\(port)/jsonrpc")
            return (try? await ServiceAPI.loop.send(request)) != nil
        }
        let settings = try fileBytes(service.paths.state.appending(path: "aria2.json").path)
        let secret = try JSONDecoder().decode(Settings.self, from: Data(settings)).secret
        #expect(!secret.isEmpty)
        #expect(!(try String(contentsOfFile: output, encoding: .utf8)).contains(secret))
        process.kill(SIGTERM)
        _ = try await process.waitForExit()
        try await service.stop()
    }

    private static let kills = 12

    /// Ends the service that the bridge has started.
    private func end(_ service: Service) async throws {
        let outcome = try await service.cli(["service", "stop"])
        #expect(outcome.code == 0, "\(outcome)")
    }
}
