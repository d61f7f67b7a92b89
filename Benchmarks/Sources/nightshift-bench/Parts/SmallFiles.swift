import Foundation
import Glibc

/// A measurement of many small files. Only Nightshift syncs each file to disk.
struct SmallFiles {
    let bench: Bench
    /// Whether to use HTTP/2 with TLS instead of plain HTTP/1.1, with more files.
    var isHTTP2 = false
    private let size = 20 << 10

    func run() throws -> Section {
        let count = bench.options.quick ? 500 : isHTTP2 ? 10_000 : 2_000
        let rounds = bench.options.rounds ?? (bench.options.quick ? 2 : 5)
        var section = Section(
            title: "\(count) files of 20 KiB to disk" + (isHTTP2 ? " over HTTP/2" : ""),
            method:
                "\(rounds) rounds after a warm-up. Nightshift uses its default settings and syncs every file and directory entry. The others run 16 "
                + "transfers at once and do not sync.\(isHTTP2 ? " aria2 supports only HTTP/1.1." : "") Ratios are Nightshift's value divided by the other's.",
            header: [
                "Program", "Wall s", "Files/s", "CPU s", "Peak MiB", "Nightshift's wall ÷ this",
                "Nightshift's CPU ÷ this",
            ])
        let root = "\(bench.origin.root)/small"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        for index in 0..<count { try Workspace.fill("\(root)/\(index).bin", size: size, seed: UInt64(index + 2)) }
        let urls = (0..<count).map { "\(isHTTP2 ? bench.origin.http2 : bench.origin.plain)/small/\($0).bin" }

        bench.note("many small files")
        let services = try bench.services(in: bench.disk)
        defer { for (_, service) in services { service.stop() } }
        let measured = try measure(rounds, urls: urls, services: services)
        for name in measured.names {
            guard !measured.isBroken(name) else {
                section.rows.append([name, "failed", "–", "–", "–", "–", "–"])
                continue
            }
            let wall = measured.median(name) { $0.wall }
            let isSelf = name == "nightshift"
            section.rows.append([
                name, Format.number(wall), Format.number(Double(count) / wall, 0),
                Format.number(measured.median(name) { $0.cpu }),
                Format.mebibytes(Int64(measured.median(name) { Double($0.memory) })),
                isSelf ? "" : Format.number(measured.ratio("nightshift", to: name) { $0.wall }),
                isSelf ? "" : Format.number(measured.ratio("nightshift", to: name) { $0.cpu }),
            ])
        }
        let ratio = measured.ratio("nightshift", to: Self.name(.aria2)) { $0.wall }
        let wget2 = Format.number(measured.ratio("nightshift", to: Self.name(.wget2)) { $0.wall })
        if !isHTTP2 {
            section.headlines.append(
                Section.Headline(
                    what: section.title + ", each synced",
                    result: "\(Format.number(ratio)) of aria2's time and \(wget2) of wget2's, which do not sync"))
        }
        section.findings.append(
            Section.Finding(
                aim: "at least as fast as aria2 -j16", measured: "\(Format.number(ratio)) of its time",
                isMet: ratio <= 1))
        return section
    }

    /// The PEM file of the trusted authority; nil without TLS.
    private var authority: String? { isHTTP2 ? bench.origin.authority : nil }

    private static func name(_ peer: Peer) -> String {
        switch peer {
        case .curl: "curl -Z --parallel-max 16"
        case .wget2: "wget2 --max-threads=16"
        case .aria2, .aria2x4: "aria2 -j16"
        }
    }

    private func measure(_ count: Int, urls: [String], services: [(name: String, service: Service)]) throws -> Rounds {
        let list = "\(bench.disk.path)/list"
        // Each run uses its own folder, and all are removed at the end, because ext4 without a journal creates files
        // slowly after many removals.
        var folders = 0
        defer { try? FileManager.default.removeItem(atPath: "\(bench.disk.path)/out") }
        var programs: [(name: String, run: () throws -> Cost)] = []
        func add(_ name: String, _ fetch: @escaping (String) throws -> Cost) {
            programs.append(
                (
                    name,
                    {
                        let directory = try bench.disk.empty("out/\(folders)")
                        folders += 1
                        sync()
                        let cost = try fetch(directory)
                        for url in urls {
                            let file = "\(directory)/\(url.split(separator: "/").last ?? "")"
                            guard Workspace.size(file) == Int64(size) else { throw BenchError("\(file) is incomplete") }
                        }
                        return cost
                    }
                ))
        }
        for (name, service) in services {
            add(name) { directory in
                try urls.joined(separator: "\n").write(toFile: list, atomically: false, encoding: .utf8)
                return try service.run(
                    ["get", "-i", list, "-d", directory] + (authority.map { ["--cacert", $0] } ?? []), limit: 300)
            }
        }
        for peer in Peer.allCases {
            guard try peer.command(many: urls, directory: "/", list: list, authority: authority) != nil else {
                continue
            }
            add(Self.name(peer)) { directory in
                let command =
                    try peer.command(many: urls, directory: directory, list: list, authority: authority) ?? []
                return try peer.run(command, log: bench.disk.log, limit: 300)
            }
        }
        var rounds = Rounds()
        rounds.measure(count, programs, note: bench.note)
        return rounds
    }
}
