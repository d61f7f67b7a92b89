import Foundation
import Glibc

/// A measurement of what a background download leaves to other traffic on a slow line.
struct Yielding {
    let bench: Bench

    private struct Line {
        var megabits: Double
        /// The queue in milliseconds.
        var queue: Int
        /// The round trip on an empty line in milliseconds.
        var delay = 5
        var control = "cubic"
        /// The number of downloads in the foreground.
        var flows = 1
        var measuresPeers = false

        var title: String {
            "\(Format.number(megabits, 0)) Mbit/s, \(delay) + \(queue) ms, \(control)\(flows > 1 ? ", \(flows) flows" : "")"
        }
    }

    /// A program that downloads in the background.
    private struct Background: Sendable {
        var name: String
        var command: @Sendable (_ line: NarrowLine, _ folder: String) -> [String]
        var isService = true

        static func nightshift(_ name: String, _ options: [String]) -> Background {
            Background(name: name) { _, folder in
                ["get", "--detach"] + options + ["-o", "\(folder)/background", "\(Yielding.origin)/large"]
            }
        }
    }

    private struct Outcome {
        var alone = 0.0
        var foreground = 0.0
        /// The rate of the background in the second and third second after the foreground has ended.
        var back = 0.0
        var pages: [Double] = []
        var delays: [Double] = []
    }

    private static let origin = "http://\(NarrowLine.address):8080"
    private static let lines = [
        Line(megabits: 20, queue: 400, measuresPeers: true), Line(megabits: 20, queue: 50),
        Line(megabits: 20, queue: 400, control: "bbr"), Line(megabits: 20, queue: 400, flows: 8),
        Line(megabits: 20, queue: 400, delay: 80), Line(megabits: 5, queue: 400), Line(megabits: 100, queue: 400),
    ]
    private static let own = [
        Background.nightshift("nightshift", ["--no-yield"]), Background.nightshift("nightshift --yield", ["--yield"]),
    ]
    private static let peers = [
        Background(
            name: "curl",
            command: { _, folder in ["curl", "-q", "-s", "-o", "\(folder)/background", "\(origin)/large"] },
            isService: false),
        Background(
            name: "curl, half the rate",
            command: { line, folder in
                [
                    "curl", "-q", "-s", "--limit-rate", "\(Int(line.rate / 16))", "-o", "\(folder)/background",
                    "\(origin)/large",
                ]
            }, isService: false),
        Background(
            name: "aria2 x8",
            command: { _, folder in
                [
                    "aria2c", "--no-conf", "-q", "-x8", "-s8", "-k1M", "--file-allocation=none", "-d", folder, "-o",
                    "background", "\(origin)/large",
                ]
            }, isService: false),
    ]

    func run() throws -> Section {
        var section = Section(
            title: "Yielding: what a background download leaves to others",
            method:
                "A server and a client in network namespaces, and between them a line with a queue (tbf). "
                + "The times are the round trip on the empty line and the longest delay of the queue. "
                + "The background downloads alone, then beside curl in the foreground for 10 s, and then beside a page of 100 kB that "
                + "curl loads each second. The delay is that of the queue while the pages load, which a call would notice. Back is the background in "
                + "the second and third second after the foreground. The foreground alone and the pages alone are the first row of each line.",
            header: [
                "Line", "Background", "Background alone (Mbit/s)", "Foreground (Mbit/s)", "Back (Mbit/s)",
                "Median page (s)", "90 % page (s)", "95 % delay (ms)",
            ])
        let folder = try bench.memory.empty("yield")
        try Workspace.fill("\(folder)/page", size: 100_000, seed: 7)
        guard FileManager.default.createFile(atPath: "\(folder)/large", contents: nil),
            truncate("\(folder)/large", 4 << 30) == 0
        else { throw BenchError("cannot write \(folder)/large") }
        for line in bench.options.quick ? [Self.lines[0]] : Self.lines {
            try measure(line, folder, &section)
        }
        return section
    }

    private func measure(_ line: Line, _ folder: String, _ section: inout Section) throws {
        let narrow = try NarrowLine(
            megabits: line.megabits, queue: line.queue, delay: line.delay, control: line.control, in: bench.memory)
        defer { narrow.remove() }
        try narrow.serve(folder)
        let service = try Service(
            binaries: bench.options.binaries, home: try bench.memory.empty("home"), log: bench.memory.log,
            under: narrow.client)
        defer { service.stop() }
        bench.note("yielding: \(line.title)")
        var empty = Outcome()
        empty.foreground = try foreground(line, narrow)
        try loadPages(narrow, into: &empty)
        add(empty, "none", line, &section)
        var outcomes: [String: Outcome] = [:]
        for background in Self.own + (line.measuresPeers ? Self.peers : []) {
            let outcome = try measure(background, beside: line, narrow, service)
            outcomes[background.name] = outcome
            add(outcome, background.name, line, &section)
        }
        guard let plain = outcomes["nightshift"], let yielding = outcomes["nightshift --yield"] else { return }
        section.findings += Self.findings(line, empty: empty, plain: plain, yielding: yielding)
        guard line.measuresPeers else { return }
        section.headlines.append(
            Section.Headline(
                what: "A download beside a background download, 20 Mbit/s",
                result:
                    "\(Format.number(yielding.foreground, 1)) of \(Format.number(empty.foreground, 1)) Mbit/s with --yield, "
                    + "\(Format.number(plain.foreground, 1)) without, "
                    + "\(Format.number(outcomes["curl"]?.foreground ?? .nan, 1)) beside curl"))
    }

    private func add(_ outcome: Outcome, _ name: String, _ line: Line, _ section: inout Section) {
        let isEmpty = name == "none"
        section.rows.append([
            line.title, name, isEmpty ? "–" : Format.number(outcome.alone, 1),
            Format.number(outcome.foreground, 1), isEmpty ? "–" : Format.number(outcome.back, 1),
            Format.number(outcome.pages.median, 2), Format.number(outcome.pages.percentile(90), 2),
            Format.number(1_000 * outcome.delays.percentile(95), 0),
        ])
    }

    private static func findings(_ line: Line, empty: Outcome, plain: Outcome, yielding: Outcome) -> [Section.Finding] {
        func finding(_ aim: String, _ value: Double, isMet: Bool) -> Section.Finding {
            Section.Finding(aim: "\(line.title): \(aim)", measured: Format.number(value, 2), isMet: isMet)
        }
        let share = yielding.foreground / empty.foreground
        let least = line.control == "bbr" ? 0.85 : 0.9
        let alone = yielding.alone / plain.alone
        let back = yielding.back / yielding.alone
        let page = yielding.pages.median / empty.pages.median
        return [
            finding("alone at least 0.97 of plain", alone, isMet: alone >= 0.97),
            finding(
                "the foreground at least \(Format.number(least, 2)) of its rate alone", share, isMet: share >= least),
            finding("back within 2 s", back, isMet: back >= 0.9),
            finding("pages within 1.2 of an empty line", page, isMet: page <= 1.2),
        ]
    }

    private func measure(
        _ background: Background, beside line: Line, _ narrow: NarrowLine, _ service: Service
    ) throws -> Outcome {
        let folder = try bench.memory.empty("background")
        let command = background.command(narrow, folder)
        var process: ChildProcess?
        if background.isService {
            try service.ask(command)
        } else {
            process = try ChildProcess(narrow.client + command, log: bench.memory.log)
        }
        defer {
            if let process {
                kill(process.processID, SIGTERM)
                _ = try? process.wait(limit: 10, since: Instant())
            } else {
                try? service.ask(["cancel", "--all"])
            }
        }
        var outcome = Outcome()
        usleep(6_000_000)
        outcome.alone = try rate(of: narrow, over: 4)
        outcome.foreground = try foreground(line, narrow)
        usleep(1_000_000)
        outcome.back = try rate(of: narrow, over: 2)
        usleep(3_000_000)
        try loadPages(narrow, into: &outcome)
        return outcome
    }

    /// Returns the rate of the line in Mbit/s over some seconds.
    private func rate(of line: NarrowLine, over seconds: Double) throws -> Double {
        let (start, before) = (Instant(), try line.queue(in: bench.memory).sent)
        usleep(UInt32(seconds * 1e6))
        return Double(try line.queue(in: bench.memory).sent - before) * 8e-6 / start.elapsed
    }

    /// Downloads with curl for ten seconds. Returns the rate in Mbit/s of all downloads together.
    private func foreground(_ line: Line, _ narrow: NarrowLine) throws -> Double {
        let seconds = 10.0
        let outputs = (0..<line.flows).map { "\(bench.memory.path)/foreground\($0)" }
        let start = Instant()
        let processes = try outputs.map { output in
            try? FileManager.default.removeItem(atPath: output)
            return try ChildProcess(
                narrow.client + [
                    "curl", "-q", "-s", "-o", "/dev/null", "-m", "\(seconds)", "-w", "%{size_download}",
                    "\(Self.origin)/large",
                ], log: output)
        }
        for process in processes { _ = try process.wait(limit: seconds + 10, since: start) }
        let bytes = try outputs.map { Double(try String(contentsOfFile: $0, encoding: .utf8)) ?? 0 }
        return bytes.reduce(0, +) * 8e-6 / seconds
    }

    /// Loads a page once a second, and measures the delay of the queue meanwhile.
    private func loadPages(_ narrow: NarrowLine, into outcome: inout Outcome) throws {
        let output = "\(bench.memory.path)/page-time"
        let start = Instant()
        for second in 0..<12 {
            outcome.delays.append(try narrow.queue(in: bench.memory).delay)
            try? FileManager.default.removeItem(atPath: output)
            try ChildProcess.require(
                narrow.client + [
                    "curl", "-q", "-s", "-o", "/dev/null", "-m", "20", "-w", "%{time_total}", "\(Self.origin)/page",
                ], log: output, limit: 30)
            outcome.pages.append(Double(try String(contentsOfFile: output, encoding: .utf8)) ?? .nan)
            while start.elapsed < Double(second + 1) {
                outcome.delays.append(try narrow.queue(in: bench.memory).delay)
                usleep(50_000)
            }
        }
    }
}
