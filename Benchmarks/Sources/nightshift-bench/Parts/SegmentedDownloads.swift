import Foundation
import Glibc

/// A measurement of one file over several connections, with a slow network and not a slow machine. The time is compared
/// with the ideal and with other programs.
struct SegmentedDownloads {
    let bench: Bench
    private let name = "segments.bin"

    /// A network path, and the least possible time over it.
    private struct Way {
        var connections: Int
        /// The options of the proxy.
        var options: [String]
        /// The least possible time in seconds.
        var ideal: Double
    }

    private var size: Int { bench.options.quick ? 16 << 20 : 64 << 20 }
    private var rounds: Int { bench.options.rounds ?? (bench.options.quick ? 1 : 3) }

    /// Measures a path on which one of four connections is a hundred times slower than the others.
    func tail() throws -> Section {
        let (fast, slow) = (10_000_000.0, 100_000.0)
        let way = Way(
            connections: 4, options: ["--rate-each", "\(Int(fast))", "--rate-second", "\(Int(slow))"],
            ideal: Double(size) / (3 * fast + slow))
        return try run(
            way, title: "A slow tail: \(size >> 20) MiB, the second connection at 0.1 MB/s and all others at 10 MB/s",
            aims: [.ideal(1.3), .peer(.axel, 1.1)])
    }

    /// Measures a path that limits the rate of each connection.
    func cap() throws -> Section {
        let each = 4_000_000.0
        let way = Way(connections: 8, options: ["--rate-each", "\(Int(each))"], ideal: Double(size) / (8 * each))
        return try run(
            way, title: "A cap for each connection: \(size >> 20) MiB at 4 MB/s each",
            aims: [.peer(.aria2, 1.1), .peer(.axel, 1.1)])
    }

    /// Measures a path with a long round trip and a limit for all connections together.
    func trip() throws -> Section {
        let rate = 10_000_000.0
        let way = Way(
            connections: 4, options: ["--latency", "50", "--rate", "\(Int(rate))"], ideal: Double(size) / rate + 0.1)
        return try run(
            way, title: "A round trip of 100 ms: \(size >> 20) MiB, 10 MB/s for all connections together",
            aims: [.ideal(1.3), .peer(.curl, 1.05)])
    }

    private enum Aim {
        /// A bound of this multiple of the ideal time.
        case ideal(Double)
        /// A bound of this multiple of another program's time.
        case peer(SegmentedPeer, Double)
    }

    private func run(_ way: Way, title: String, aims: [Aim]) throws -> Section {
        var section = Section(
            title: title,
            method:
                "\(rounds) rounds after a warm-up. Each run uses a new proxy in front of nginx, http, and a destination in memory. The "
                + "ideal with \(way.connections) connections is \(Format.number(way.ideal)) s. Nightshift chooses the number of connections, "
                + "except in the row that gives it. Nightshift's wall ÷ this: below 1, Nightshift is faster.",
            header: ["Program", "Wall s", "Wall ÷ ideal", "CPU s", "Nightshift's wall ÷ this"])
        bench.note(title)
        let file = "\(bench.origin.root)/\(name)"
        try Workspace.fill(file, size: size, seed: 7)
        defer { unlink(file) }
        let service = try bench.service(in: bench.memory)
        defer { service.stop() }
        var measured = Rounds()
        measured.measure(rounds, try programs(way, service), note: bench.note)
        add(measured, way, to: &section)
        let ratios = [SegmentedPeer.curl, .aria2].map { peer in
            let name = peer.name(way.connections)
            return "\(Format.number(measured.ratio("nightshift", to: name) { $0.wall })) of \(name)'s time"
        }
        section.headlines.append(Section.Headline(what: title, result: ratios.joined(separator: ", ")))
        for aim in aims { section.findings.append(finding(aim, way, measured)) }
        return section
    }

    private func programs(_ way: Way, _ service: Service) throws -> [(name: String, run: () throws -> Cost)] {
        let limit = way.ideal * 20 + 30
        var programs: [(name: String, run: () throws -> Cost)] = []
        func add(_ name: String, _ fetch: @escaping (Job) throws -> Cost) {
            programs.append((name, { try measure(way, fetch) }))
        }
        add("nightshift") { try service.download($0, limit: limit) }
        if try service.takesConnections() {
            add("nightshift x\(way.connections)") {
                try service.download($0, connections: way.connections, limit: limit)
            }
        }
        for peer in SegmentedPeer.allCases {
            add(peer.name(way.connections)) {
                try peer.run($0, connections: way.connections, log: bench.memory.log, limit: limit)
            }
        }
        return programs
    }

    /// Runs once over a new path, so that each program has the same second connection.
    private func measure(_ way: Way, _ fetch: (Job) throws -> Cost) throws -> Cost {
        let directory = try bench.memory.empty("out")
        let wire = try Wire(bench: bench, to: bench.origin.plainPort, way.options)
        let job = Job(url: "http://127.0.0.1:\(wire.port)/\(name)", directory: directory, filename: name)
        let cost: Cost
        do {
            cost = try fetch(job)
        } catch {
            _ = try? wire.stop()
            throw error
        }
        try wire.stop()
        guard Workspace.size(job.file) == Int64(size) else { throw BenchError("\(job.file) has the wrong length") }
        try ChildProcess.require(
            ["cmp", "-s", job.file, "\(bench.origin.root)/\(name)"], log: bench.memory.log, limit: 60)
        return cost
    }

    private func add(_ measured: Rounds, _ way: Way, to section: inout Section) {
        for name in measured.names {
            guard !measured.isBroken(name) else {
                section.rows.append([name, "failed", "–", "–", "–"])
                continue
            }
            let wall = measured.median(name) { $0.wall }
            section.rows.append([
                name, Format.number(wall), Format.number(wall / way.ideal),
                Format.number(measured.median(name) { $0.cpu }),
                name == "nightshift" ? "" : Format.number(measured.ratio("nightshift", to: name) { $0.wall }),
            ])
        }
    }

    private func finding(_ aim: Aim, _ way: Way, _ measured: Rounds) -> Section.Finding {
        switch aim {
        case .ideal(let bound):
            let ratio = measured.median("nightshift") { $0.wall } / way.ideal
            return Section.Finding(
                aim: "at most \(Format.number(bound, 1)) of the ideal", measured: Format.number(ratio),
                isMet: ratio <= bound)
        case .peer(let peer, let bound):
            let name = peer.name(way.connections)
            let ratio = measured.ratio("nightshift", to: name) { $0.wall }
            return Section.Finding(
                aim: "at most \(Format.number(bound)) of \(name)'s time", measured: Format.number(ratio),
                isMet: ratio <= bound)
        }
    }
}
