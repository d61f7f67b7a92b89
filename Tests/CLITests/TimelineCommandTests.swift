import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct TimelineCommandTests {
    @Test func `L5: timeline reads the journal page by page and draws it`() async throws {
        let world = try World()
        let now = Samples.now
        let entries = TimelineSamples.entries.enumerated().map { index, entry in
            var entry = entry
            entry.id = Int64(index + 1)
            entry.time = now.addingTimeInterval(entry.time.timeIntervalSince(TimelineSamples.start) - 3_600)
            return entry
        }
        let service = try world.service { request in
            guard request.path.hasPrefix("/v1/journal") else { throw Problem.notFound("There is only a journal.") }
            let after =
                request.path.split(separator: "?").last?.split(separator: "&")
                .first { $0.hasPrefix("after=") }.flatMap { Int64($0.dropFirst(6)) } ?? 0
            return try .json(JournalPage(entries: Array(entries.filter { $0.id > after }.prefix(8)), next: nil))
        }
        defer { service.stop() }
        #expect(await world.run("timeline", "-o", "day.svg", "--since", "2h") == .whole)
        #expect(world.output.text == "day.svg: 2 apps, 2 transfers, 2 h\n")
        let pages = service.requests.filter { $0.path.hasPrefix("/v1/journal") }
        #expect(pages.count == 4)
        #expect(pages.first?.path.contains("since=") == true)
        let svg = try String(contentsOf: world.root.appending(path: "day.svg"), encoding: .utf8)
        #expect(svg.contains("org.example.Photos"))
    }

    @Test func `B3: timeline draws a whole simulation from a file, without a service`() async throws {
        let world = try World()
        let totals = SimulationTotals(start: TimelineSamples.start, end: TimelineSamples.span.end)
        let records = TimelineSamples.entries.map { SimulationRecord.entry($0) } + [.totals(totals)]
        var lines = Data()
        for record in records { lines += try JSON.encode(record) + Data("\n".utf8) }
        try lines.write(to: world.root.appending(path: "evening.json"))
        #expect(await world.run("timeline", "-o", "-", "--simulation", "evening.json") == .whole)
        #expect(world.output.text.hasPrefix("<?xml") && world.output.text.hasSuffix("</svg>\n"))
        let other = try World()
        try lines.write(to: other.root.appending(path: "evening.json"))
        #expect(await other.run("timeline", "-o", "a.svg", "--simulation", "evening.json", "--json") == .whole)
        #expect(
            other.output.text.contains(
                #""apps":2,"fetches":0,"file":"a.svg","freshOpenings":0,"from":"2026-01-05T19:00:00.000Z""#))
    }

    @Test func `B3: The error about a missing directory for the picture names the directory`() async throws {
        let world = try World()
        let totals = SimulationTotals(start: TimelineSamples.start, end: TimelineSamples.span.end)
        try JSON.encode(SimulationRecord.totals(totals)).write(to: world.root.appending(path: "evening.json"))
        #expect(await world.run("timeline", "-o", "gone/x.svg", "--simulation", "evening.json") == .failed)
        #expect(world.errors.text.contains("The directory \(world.path)/gone does not exist."), "\(world.errors.text)")
        try FileManager.default.createDirectory(
            at: world.root.appending(path: "x.svg"), withIntermediateDirectories: true)
        #expect(await world.run("timeline", "-o", "x.svg", "--simulation", "evening.json") == .failed)
        #expect(world.errors.text.hasSuffix("x.svg could not be written: Is a directory.\n"), "\(world.errors.text)")
    }

    @Test func `B3: timeline reports the line at which a file is not a simulation`() async throws {
        let world = try World()
        try Data("{\"at\": 0}\n".utf8).write(to: world.root.appending(path: "trace.jsonl"))
        #expect(await world.run("timeline", "-o", "a.svg", "--simulation", "trace.jsonl") == .usage)
        #expect(world.errors.text.contains("Line 1 is not output of"))
        #expect(await world.run("timeline", "-o", "a.svg", "--simulation", "missing") == .usage)
        #expect(world.errors.text.hasSuffix("missing cannot be read: No such file or directory.\n"))
        #expect(!FileManager.default.fileExists(atPath: world.path + "/a.svg"))
    }

    @Test(
        arguments: [
            ["timeline"], ["timeline", "-o", "-", "--json"],
            ["timeline", "-o", "a", "--simulation", "b", "--since", "1h"],
            ["timeline", "-o", "a", "--since", "yesterday"],
        ])
    func `L5: timeline refuses options that cannot be combined`(arguments: [String]) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(arguments)) == .usage)
    }
}
