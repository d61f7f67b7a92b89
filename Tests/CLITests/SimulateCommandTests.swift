import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

struct SimulateCommandTests {
    /// Creates a script that replaces nightshiftd. It writes a simulation and records its arguments.
    private func world() throws -> World {
        let world = try World()
        var totals = SimulationTotals(start: TimelineSamples.start, end: TimelineSamples.span.end)
        totals.inUse = 320
        totals.dozing = 1_275
        totals.wakeUps = 2
        totals.windows = [WindowCount(reason: .maintenance, count: 1)]
        var app = AppTotals(app: AppID(rawValue: "org.example.Photos"))
        app.background = 205
        app.kills = [KillCount(cause: .taskOverdue, count: 1)]
        totals.apps = [app]
        totals.networks = [NetworkTotals(kind: .cellular, isExpensive: true, bytes: 1 << 20)]
        totals.waits = [WaitTotals(reason: .doze, transfers: 1, sum: 900, longest: 900)]
        var refresh = RefreshTotals()
        refresh.fetches = 12
        refresh.newData = 8
        refresh.failed = 4
        refresh.openings = 11
        refresh.freshOpenings = 9
        refresh.deviceWakes = 5
        refresh.savedWakes = 7
        refresh.processing = 2
        refresh.processed = 1
        totals.refresh = refresh
        var location = LocationTotals()
        location.entered = 3
        location.left = 2
        location.changes = 4
        location.wakes = 9
        location.fixes = 40
        location.receiverSeconds = 176
        totals.location = location
        totals.transfers.accepted = 2
        totals.transfers.completed = 1
        let records = TimelineSamples.entries.map { SimulationRecord.entry($0) } + [.totals(totals)]
        var lines = Data()
        for record in records { lines += try JSON.encode(record) + Data("\n".utf8) }
        try lines.write(to: world.root.appending(path: "result"))
        try world.installDaemon("echo \"$@\" > '\(world.path)/arguments'; cat '\(world.path)/result'")
        return world
    }

    private func arguments(_ world: World) throws -> String {
        try String(contentsOf: world.root.appending(path: "arguments"), encoding: .utf8)
    }

    @Test func `B3: simulate prints decisions with the time since the start, then the totals`() async throws {
        let world = try world()
        #expect(await world.run("simulate", "evening.jsonl") == .whole)
        #expect(try arguments(world) == "simulate \(world.path)/evening.jsonl\n")
        try Fixture.check("simulate", world.output.text)
    }

    @Test func `B3: --totals prints only the totals, and --policy is passed to nightshiftd`() async throws {
        let world = try world()
        #expect(await world.run("simulate", "-", "--totals", "--policy", "contiguous:300") == .whole)
        #expect(try arguments(world) == "simulate - --policy contiguous:300\n")
        #expect(world.output.text.hasPrefix("The device, in 40 min\n"))
    }

    @Test func `B3: With --json simulate prints the lines of the simulation unchanged`() async throws {
        let world = try world()
        #expect(await world.run("simulate", "evening.jsonl", "--json") == .whole)
        let result = try String(contentsOf: world.root.appending(path: "result"), encoding: .utf8)
        #expect(world.output.text == result)
    }

    @Test func `B3: With -o simulate also draws the timeline`() async throws {
        let world = try world()
        #expect(await world.run("simulate", "evening.jsonl", "-o", "evening.svg", "--totals") == .whole)
        let svg = try String(contentsOf: world.root.appending(path: "evening.svg"), encoding: .utf8)
        #expect(svg.contains("Simulation of evening.jsonl") && svg.contains("</svg>"))
    }

    @Test(arguments: [
        ["simulate", "evening.jsonl"], ["simulate", "evening.jsonl", "--json"], ["timeline", "--simulation", "result"],
    ])
    func `B3: simulate writes the picture before its output, because the reader may close the pipe`(command: [String])
        async throws
    {
        let world = try world()
        let picture = world.path + "/evening.svg"
        let wasThere = Watched<[Bool]>([])
        var invocation = world.invocation(command + ["-o", "evening.svg"])
        invocation.output.write = { _ in
            let isThere = FileManager.default.fileExists(atPath: picture)
            wasThere.update { $0.append(isThere) }
        }
        #expect(await CommandLineProgram.run(invocation) == .whole)
        #expect(wasThere.read { $0.first } == true)
    }

    @Test(
        arguments: [
            (
                2, "nightshiftd: x.jsonl, line 3: mistake.", CLI.ExitStatus.usage,
                "nightshift: x.jsonl, line 3: mistake.\n"
            ),
            (
                1, "nightshiftd: x.jsonl cannot be read: no such file", .failed,
                "nightshift: x.jsonl cannot be read: no such file\n"
            ),
            (9, "", .failed, "nightshift: nightshiftd ended with status 9.\n"),
        ] as [(Int, String, CLI.ExitStatus, String)])
    func `B3: simulate prints nightshiftd's errors, including the line of a mistake in a trace`(
        code: Int, words: String, status: CLI.ExitStatus, message: String
    ) async throws {
        let world = try World()
        try world.installDaemon("echo '\(words)' >&2; exit \(code)")
        #expect(await world.run("simulate", "x.jsonl") == status)
        #expect(world.errors.text == message)
        #expect(world.output.text.isEmpty)
    }

    @Test func `B3: Without nightshiftd, simulate prints the paths that it searched`() async throws {
        let world = try World()
        #expect(await world.run("simulate", "x.jsonl") == .unreachable)
        #expect(world.errors.text.contains("nightshiftd was not found"))
    }

    @Test func `B3: simulate refuses an invalid policy`() async throws {
        let world = try world()
        #expect(await world.run("simulate", "x.jsonl", "--policy", "lazy") == .usage)
        #expect(await world.run("simulate", "x.jsonl", "-o", "-") == .usage)
    }
}
