import Foundation
import Glibc

/// A measurement of one large file: processor time per byte, with and without TLS, to disk and to memory.
struct Throughput {
    let bench: Bench

    func run() throws -> Section {
        let size = bench.options.quick ? 256 << 20 : 1 << 30
        let rounds = bench.options.rounds ?? (bench.options.quick ? 2 : 5)
        var section = Section(
            title: "One file of \(size >> 20) MiB",
            method:
                "\(rounds) rounds after a warm-up. Nightshift syncs the file and its directory before it reports success; the "
                + "others do not sync. Ratios are Nightshift's value divided by the other's: below 1, Nightshift is cheaper.",
            header: [
                "To, over", "Program", "CPU s/GiB", "Wall s", "Peak MiB", "Nightshift's CPU ÷ this",
                "Nightshift's wall ÷ this",
            ])
        try Workspace.fill("\(bench.origin.root)/large.bin", size: size, seed: 1)
        defer { unlink("\(bench.origin.root)/large.bin") }

        for (place, workspace) in [("disk", bench.disk), ("memory", bench.memory)] {
            let services = try bench.services(in: workspace)
            defer { for (_, service) in services { service.stop() } }
            for (scheme, base) in [("http", bench.origin.plain), ("https", bench.origin.tls)] {
                bench.note("one large file over \(scheme) to \(place)")
                let authority = scheme == "https" ? bench.origin.authority : nil
                let rounds = try measure(
                    rounds, url: "\(base)/large.bin", authority: authority, size: size, workspace: workspace,
                    services: services)
                add(rounds, to: &section, label: "\(place), \(scheme)", size: size)
            }
        }
        return section
    }

    private func measure(
        _ count: Int, url: String, authority: String?, size: Int, workspace: Workspace,
        services: [(name: String, service: Service)]
    ) throws -> Rounds {
        let directory = try workspace.empty("out")
        var job = Job(url: url, directory: directory, filename: "large.bin", authority: authority)
        var programs: [(name: String, run: () throws -> Cost)] = []
        func add(_ name: String, _ fetch: @escaping (Job) throws -> Cost) {
            job.filename = name.replacing(" ", with: "-") + ".bin"
            let own = job
            programs.append(
                (
                    name,
                    {
                        // This syncs now, so that the next run does not pay for pending writes of the previous one.
                        sync()
                        defer { unlink(own.file) }
                        let cost = try fetch(own)
                        try verify(own.file, size: size)
                        return cost
                    }
                ))
        }
        for (name, service) in services { add(name) { try service.download($0, limit: 120) } }
        if let service = services.first?.service, try service.takesConnections() {
            add("nightshift x1") { try service.download($0, connections: 1, limit: 120) }
            add("nightshift x4") { try service.download($0, connections: 4, limit: 120) }
        }
        for peer in Peer.allCases {
            add(peer.rawValue) { try peer.run(peer.command($0), log: workspace.log, limit: 120) }
        }
        var rounds = Rounds()
        rounds.measure(count, programs, note: bench.note)
        return rounds
    }

    private func verify(_ file: String, size: Int) throws {
        guard Workspace.size(file) == Int64(size) else { throw BenchError("\(file) has the wrong length") }
        try ChildProcess.require(
            ["cmp", "-s", file, "\(bench.origin.root)/large.bin"], log: bench.disk.log, limit: 60)
    }

    private func add(_ rounds: Rounds, to section: inout Section, label: String, size: Int) {
        let gibibytes = Double(size) / Double(1 << 30)
        for name in rounds.names {
            guard !rounds.isBroken(name) else {
                section.rows.append([label, name, "failed", "–", "–", "–", "–"])
                continue
            }
            let isSelf = name == "nightshift"
            section.rows.append([
                label, name, Format.number(rounds.median(name) { $0.cpu } / gibibytes),
                Format.number(rounds.median(name) { $0.wall }),
                Format.mebibytes(Int64(rounds.median(name) { Double($0.memory) })),
                isSelf ? "" : Format.number(rounds.ratio("nightshift", to: name) { $0.cpu }),
                isSelf ? "" : Format.number(rounds.ratio("nightshift", to: name) { $0.wall }),
            ])
        }
        if label.hasPrefix("disk") {
            section.headlines.append(
                Section.Headline(
                    what: "One large file to \(label): CPU per byte",
                    result: "\(Format.number(rounds.ratio("nightshift", to: "curl") { $0.cpu })) of curl's, "
                        + "\(Format.number(rounds.ratio("nightshift", to: "aria2 x4") { $0.cpu })) of aria2 x4's"))
        }
        for (peer, aim) in [("curl", 1.0), ("aria2 x4", 0.6)] {
            let ratio = rounds.ratio("nightshift", to: peer) { $0.cpu }
            section.findings.append(
                Section.Finding(
                    aim: "\(label): CPU per byte at most \(Format.number(aim, 1)) of \(peer)'s",
                    measured: Format.number(ratio), isMet: ratio <= aim))
        }
    }
}
