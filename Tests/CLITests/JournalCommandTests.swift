import Foundation
import NightshiftAPI
import Synchronization
import TestSupport
import Testing

@testable import CLI

struct JournalCommandTests {
    private static var entries: [JournalEntry] {
        var held = Samples.entry(1, .held, task: 13, secondsAgo: 60)
        held.wait = Wait(reason: .battery, since: Samples.ago(60), detail: "It holds 34 %.")
        held.inputs = ["battery": "34", "power": "battery"]
        let woken = JournalEntry(
            id: 2, time: Samples.ago(30), decision: .appWoken, app: AppSamples.id, detail: "photos\u{1b}[2J")
        let window = JournalEntry(
            id: 3, time: Samples.ago(10), decision: .windowOpened, detail: WindowReason.maintenance.sentence)
        return [held, woken, window]
    }

    /// Pages of two entries, and streams that begin with the last one.
    ///
    /// - Parameter unanswered: which question for a page, from 1 on, ends without an answer.
    private func service(_ world: World, unanswered: Int? = nil) throws -> ScriptedService {
        let asked = Mutex(0)
        return try world.service { request in
            let path = String(request.path.prefix { $0 != "?" })
            switch (request.method, path) {
            case ("GET", "/v1/events"):
                let entry = String(decoding: try JSON.encode(Self.entries[2]), as: UTF8.self)
                return .events(["event: journal\nid: 3\ndata: \(entry)\n\n"], staysOpen: true)
            case ("GET", "/v1/journal"):
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                if number == unanswered { return .hangUp }
                let after = request.path.firstMatch(of: /after=(\d+)/).flatMap { Int64($0.1) } ?? 0
                let rest = Self.entries.filter { $0.id > after }
                return try .json(JournalPage(entries: Array(rest.prefix(2)), next: nil))
            default: throw Problem.notFound("There is nothing at \(request.path).")
            }
        }
    }

    @Test func `B1: Every decision is a line with its reason and what was looked at`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("journal") == .whole)
        try Fixture.check("journal", world.output.text)
    }

    @Test func `B1: Whoever follows it stays with a service that goes away behind its first answer`() async throws {
        let world = try World()
        let service = try service(world, unanswered: 2)
        defer { service.stop() }
        let end = Watched<CLI.ExitStatus?>(nil)
        let following = Task {
            let status = await world.run("journal", "-f", "--json", "--since", "all")
            end.update { $0 = status }
            return status
        }
        try await eventually("every entry") {
            world.output.text.split(separator: "\n").count == 3 || end.read { $0 != nil }
        }
        try #require(end.read { $0 } == nil, "it has ended: \(world.errors.text)")
        following.cancel()
        #expect(await following.value == .interrupted)
        let lines = world.output.text.split(separator: "\n")
        #expect(try lines.map { try JSON.decode(JournalEntry.self, from: Data($0.utf8)) } == Self.entries)
    }

    @Test func `B1: That there is nothing to tell is said, and that there is no such transfer`() async throws {
        let world = try World()
        let service = try world.service { request in
            switch request.path.prefix(while: { $0 != "?" }) {
            case "/v1/journal": return try .json(JournalPage(entries: [], next: nil))
            case "/v1/tasks/13": return try .json(Samples.waiting())
            default: throw Problem.notFound("There is no task 99.")
            }
        }
        defer { service.stop() }
        #expect(await world.run("journal", "--task", "13") == .whole)
        #expect(world.errors.text == "Nothing was decided in that time; --since all goes back to the beginning.\n")
        let other = try World()
        let second = try other.service { request in
            guard request.path.hasPrefix("/v1/journal") else { throw Problem.notFound("There is no task 99.") }
            return try .json(JournalPage(entries: [], next: nil))
        }
        defer { second.stop() }
        #expect(await other.run("journal", "--task", "99", "--since", "all") == .failed)
        #expect(
            other.errors.text == "nightshift: There is no task 99, and no decision about one in that time.\n")
    }

    @Test func `B1: As JSON each entry is an object on a line of its own`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("journal", "--json", "--since", "all") == .whole)
        let lines = world.output.text.split(separator: "\n")
        #expect(try lines.map { try JSON.decode(JournalEntry.self, from: Data($0.utf8)) } == Self.entries)
    }

    @Test(
        arguments: [
            ([], "since=2026-11-21T11%3A00%3A00.000Z"), (["--since", "90s"], "since=2026-11-21T11%3A58%3A30.000Z"),
            (["--since", "2026-11-20"], "since=2026-11-20T00%3A00%3A00.000Z"),
            // The last time it was that late.
            (["--since", "13:00"], "since=2026-11-20T13%3A00%3A00.000Z"),
            (["--app", "org.example.Photos.desktop"], "app=org.example.Photos"), (["--task", "12"], "task=12"),
        ] as [([String], String)])
    func `B1: The service is asked for no more than is wanted`(arguments: [String], part: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await Program.run(world.invocation(["journal"] + arguments)) == .whole)
        let paths = service.requests.map(\.path)
        #expect(paths[0].contains(part), "\(paths)")
        // Later pages follow from where the first ended.
        #expect(paths.count == 3 && !paths[1].contains("since=") && paths[1].contains("after=2"), "\(paths)")
    }

    @Test(
        arguments: [
            ["--since", "yesterday"], ["--task", "0"], ["--task", "1", "--app", "a"], ["--since", "2026-02-30"],
        ])
    func `B1: What makes no sense is refused`(arguments: [String]) async throws {
        let world = try World()
        #expect(await Program.run(world.invocation(["journal"] + arguments)) == .usage)
        #expect(!world.errors.text.isEmpty)
    }
}
