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

    /// Returns a service with journal pages of two entries, and event streams that begin with the last entry.
    ///
    /// - Parameter unanswered: the number of the page request, from 1, that gets no response.
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

    @Test func `B1: journal prints each decision as a line with its reason and inputs`() async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await world.run("journal") == .whole)
        try Fixture.check("journal", world.output.text)
    }

    @Test func `B1: journal -f continues if the service stops after its first response`() async throws {
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

    @Test func `B1: journal says that it has no entries, or that a transfer does not exist`() async throws {
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
        #expect(world.errors.text == "No decision was made in that time. '--since all' prints the whole journal.\n")
        let other = try World()
        let second = try other.service { request in
            guard request.path.hasPrefix("/v1/journal") else { throw Problem.notFound("There is no task 99.") }
            return try .json(JournalPage(entries: [], next: nil))
        }
        defer { second.stop() }
        #expect(await other.run("journal", "--task", "99", "--since", "all") == .failed)
        #expect(
            other.errors.text
                == "nightshift: There is no transfer 99, and the journal of that time does not mention it.\n")
    }

    @Test func `B1: With --json each entry is one line`() async throws {
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
            // At the time of the test, the last 13:00 was yesterday.
            (["--since", "13:00"], "since=2026-11-20T13%3A00%3A00.000Z"),
            (["--app", "org.example.Photos.desktop"], "app=org.example.Photos"), (["--task", "12"], "task=12"),
        ] as [([String], String)])
    func `B1: The request of journal contains the start time and the app or the transfer`(
        arguments: [String], part: String
    ) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        #expect(await CommandLineProgram.run(world.invocation(["journal"] + arguments)) == .whole)
        let paths = service.requests.map(\.path)
        #expect(paths[0].contains(part), "\(paths)")
        // Later pages continue after the last entry of the first.
        #expect(paths.count == 3 && !paths[1].contains("since=") && paths[1].contains("after=2"), "\(paths)")
    }

    @Test(
        arguments: [
            ["--since", "yesterday"], ["--task", "0"], ["--task", "1", "--app", "a"], ["--since", "2026-02-30"],
        ])
    func `B1: Invalid arguments are refused`(arguments: [String]) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(["journal"] + arguments)) == .usage)
        #expect(!world.errors.text.isEmpty)
    }
}
