import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization
import TestSupport
import Testing

@testable import CLI

struct AppLogTests {
    /// The log of one app in a scripted service.
    private final class Log: Sendable {
        let bytes: Mutex<Data>
        let isAway = Mutex(false)

        init(_ text: String) { bytes = Mutex(Data(text.utf8)) }

        func append(_ text: String) { bytes.withLock { $0 += Data(text.utf8) } }

        /// Truncates the log as the service does, which keeps the end.
        func cut(to count: Int) { bytes.withLock { $0 = Data($0.suffix(count)) } }

        func answer(_ request: ScriptedService.Request) throws -> ScriptedService.Reply {
            if isAway.withLock({ $0 }) { return .hangUp }
            let parts = try #require(URLComponents(string: request.path))
            guard parts.path == "/v1/apps/a/log" else { throw Problem.notFound("There is no such app.") }
            func number(_ name: String) -> Int? {
                parts.queryItems?.first { $0.name == name }?.value.flatMap { Int($0) }
            }
            let limit = number("limit") ?? .max
            return .json(200, bytes.withLock { Data($0.dropFirst(number("after") ?? 0).prefix(limit)) })
        }
    }

    private struct Document: Decodable {
        var id: String
        var text: String
    }

    @Test func `L1: app log prints the log unchanged`() async throws {
        let log = Log("one\n\u{1b}[31mtwo\n")
        let world = try World()
        let service = try world.service { try log.answer($0) }
        defer { service.stop() }
        #expect(await world.run("app", "log", "a") == .whole)
        #expect(world.output.text == "one\n\u{1b}[31mtwo\n")
        #expect(await world.run("app", "log", "b") == .failed)
    }

    @Test func `L1: app log escapes control characters if it prints to a terminal`() async throws {
        let log = Log("one\n\u{1b}]0;title\u{7}\n")
        let world = try World()
        let service = try world.service { try log.answer($0) }
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["app", "log", "a"], outputIsTerminal: true)) == .whole)
        #expect(world.output.text == "one\n\\x1b]0;title\\x07\n")
    }

    @Test func `L1: app log reads a long log in pieces and prints all of it`() async throws {
        // Because the character has three bytes, pieces end within characters.
        let text = String(repeating: "€", count: AppLogReader.pieceSize)
        let log = Log(text)
        let world = try World()
        let service = try world.service { try log.answer($0) }
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["app", "log", "a"], outputIsTerminal: true)) == .whole)
        #expect(world.output.text == text)
        #expect(service.requests.count >= 4)
        let other = try World()
        let otherService = try other.service { try log.answer($0) }
        defer { otherService.stop() }
        #expect(await other.run("app", "log", "a", "--json") == .whole)
        let document = try JSON.decode(Document.self, from: Data(other.output.text.utf8))
        #expect(document.id == "a" && document.text == text)
    }

    @Test func `L1: log -f continues after a truncation of the log and after a restart of the service`() async throws {
        let log = Log((1...500).map { "line \($0)\n" }.joined())
        let world = try World()
        let service = try world.service { try log.answer($0) }
        defer { service.stop() }
        let end = Watched<CLI.ExitStatus?>(nil)
        let following = Task {
            let status = await world.run("app", "log", "-f", "a")
            end.update { $0 = status }
            return status
        }
        try await comes("the beginning", "line 500\n", in: world, of: service, before: end)
        log.append("line 501\n")
        try await comes("what came later", "line 501\n", in: world, of: service, before: end)
        log.cut(to: 2_000)
        log.append("line 502\n")
        try await comes("what came after the cut", "line 502\n", in: world, of: service, before: end)
        log.isAway.withLock { $0 = true }
        let asked = service.requests.count
        try await eventually("a try") { service.requests.count > asked }
        log.append("line 503\n")
        log.isAway.withLock { $0 = false }
        try await comes("what came while the service was away", "line 503\n", in: world, of: service, before: end)
        following.cancel()
        #expect(await following.value == .interrupted)
        #expect(world.output.text == (1...503).map { "line \($0)\n" }.joined())
        #expect(world.errors.text.isEmpty)
    }

    @Test func `L1: log -f continues if the service stops after its first response`() async throws {
        let log = Log((1...500).map { "line \($0)\n" }.joined())
        let asked = Mutex(0)
        let world = try World()
        let service = try world.service { request in
            guard request.path.contains("/log") else { return try log.answer(request) }
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            return (2...3).contains(number) ? .hangUp : try log.answer(request)
        }
        defer { service.stop() }
        let end = Watched<CLI.ExitStatus?>(nil)
        let following = Task {
            let status = await world.run("app", "log", "-f", "a")
            end.update { $0 = status }
            return status
        }
        try await comes("the beginning", "line 500\n", in: world, of: service, before: end)
        log.append("line 501\n")
        try await comes("what came while the service was away", "line 501\n", in: world, of: service, before: end)
        following.cancel()
        #expect(await following.value == .interrupted)
        #expect(world.output.text == (1...501).map { "line \($0)\n" }.joined())
        #expect(world.errors.text.isEmpty)
    }

    /// Waits until the output ends with `line`. On failure it records the number of requests, the state of the socket
    /// and the output.
    private func comes(
        _ what: String, _ line: String, in world: World, of service: ScriptedService,
        before end: Watched<CLI.ExitStatus?>
    ) async throws {
        let asked = service.requests.count
        do {
            try await eventually(what) { world.output.text.hasSuffix(line) || end.read { $0 != nil } }
        } catch {
            let (requests, output) = (service.requests, world.output.text.suffix(40))
            Issue.record(
                """
                \(requests.count - asked) requests since, the last \(requests.last?.path ?? ""); the socket is \
                \(ServiceSocket.state(of: service.socketPath)); the output ends with \(output.debugDescription)
                """)
            throw error
        }
        try #require(end.read { $0 } == nil, "\(what): it has ended: \(world.errors.text)")
    }

    @Test func `L1: log -f says when a part of the output is missing`() async throws {
        let log = Log((1...500).map { "line \($0)\n" }.joined())
        let world = try World()
        let service = try world.service { try log.answer($0) }
        defer { service.stop() }
        let following = Task { await world.run("app", "log", "-f", "a", "--json") }
        try await eventually("the beginning") { world.output.text.contains("line 500") }
        log.bytes.withLock { $0 = Data("something else\n".utf8) }
        try await eventually("the rest") { world.output.text.contains("something else") }
        following.cancel()
        _ = await following.value
        #expect(
            world.errors.text
                == "nightshift: The log was truncated before all of it was printed. Some output is missing here.\n")
        let documents = try world.output.text.split(separator: "\n").map {
            try JSON.decode(Document.self, from: Data($0.utf8))
        }
        #expect(documents.last?.text == "something else\n")
    }
}
