import Foundation
import Glibc

/// A measurement of a large upload whose connection breaks once near its end: the total bytes sent.
struct BrokenUpload {
    let bench: Bench

    func run() throws -> Section {
        let size = bench.options.quick ? 128 << 20 : 1 << 30
        let rounds = bench.options.rounds ?? (bench.options.quick ? 1 : 3)
        let server = try UploadServer(bench: bench)
        defer { server.stop() }
        let file = "\(bench.memory.path)/upload.bin"
        try Workspace.fill(file, size: size, seed: 8)
        defer { unlink(file) }
        var section = Section(
            title: "An upload of \(size >> 20) MiB that is interrupted after three quarters",
            method:
                "\(rounds) rounds after a warm-up. The server supports resumable uploads (swift-nio-extras). A proxy in front of it ends the first "
                + "connection. curl retries from the start, because of `--retry`. The proxy counts the bytes that curl sends. Nightshift may "
                + "continue at another address, so its bytes are those that its service has read from the file.",
            header: [
                "Program", "Bytes sent ÷ size", "Wall s", "CPU s", "CPU s ÷ GiB sent", "Nightshift's bytes ÷ this",
            ])
        bench.note("a broken upload")
        let service = try bench.service(in: bench.memory)
        defer { service.stop() }
        let run = Run(bench: bench, server: server, file: file, cut: size / 4 * 3)
        var measured = Rounds()
        measured.measure(
            rounds, [("nightshift", { try run.nightshift(service) }), ("curl --retry", { try run.curl() })],
            note: bench.note)
        for name in measured.names {
            guard !measured.isBroken(name) else {
                section.rows.append([name, "failed", "–", "–", "–", "–"])
                continue
            }
            section.rows.append([
                name, Format.number(measured.median(name) { Double($0.sent) } / Double(size)),
                Format.number(measured.median(name) { $0.wall }), Format.number(measured.median(name) { $0.cpu }),
                Format.number(measured.median(name, Self.processorTime)),
                name == "nightshift" ? "" : Format.number(measured.ratio("nightshift", to: name) { Double($0.sent) }),
            ])
        }
        let sent = measured.median("nightshift") { Double($0.sent) } / Double(size)
        let curl = measured.median("curl --retry") { Double($0.sent) } / Double(size)
        section.headlines.append(
            Section.Headline(
                what: "An upload whose connection breaks",
                result: "sends \(Format.number(sent)) times the file; curl \(Format.number(curl)) times"))
        section.findings.append(
            Section.Finding(
                aim: "at most 1.05 times the file is sent", measured: Format.number(sent), isMet: sent <= 1.05))
        let share = measured.ratio("nightshift", to: "curl --retry", Self.processorTime)
        section.findings.append(
            Section.Finding(
                aim: "at most curl's CPU for each byte sent", measured: Format.number(share), isMet: share <= 1))
        return section
    }

    /// Returns the processor seconds per GiB sent.
    private static func processorTime(_ cost: Cost) -> Double {
        cost.cpu / (Double(cost.sent) / Double(1 << 30))
    }

    private struct Run {
        let bench: Bench
        let server: UploadServer
        let file: String
        /// The number of bytes after which the connection is broken.
        let cut: Int

        func nightshift(_ service: Service) throws -> Cost {
            let before = try service.view.readBytes()
            var cost = try through { url in
                try service.run(["put", file, url, "-o", "\(try bench.memory.empty("answer"))/answer"], limit: 300)
            }.cost
            cost.sent = try service.view.readBytes() - before
            return cost
        }

        func curl() throws -> Cost {
            let (cost, sent) = try through { url in
                let usage = try ChildProcess.run(
                    [
                        "curl", "-q", "-sS", "-f", "--retry", "5", "--retry-all-errors", "--retry-delay", "1", "-o",
                        "/dev/null", "-T", file, url,
                    ], log: bench.memory.log, limit: 300)
                guard usage.exitStatus == 0 else { throw BenchError("curl ended with \(usage.exitStatus)") }
                return Cost(wall: usage.wall, cpu: usage.cpu, memory: usage.peakMemory)
            }
            var counted = cost
            counted.sent = sent
            return counted
        }

        private func through(_ send: (String) throws -> Cost) throws -> (cost: Cost, sent: Int64) {
            let wire = try Wire(bench: bench, to: server.port, ["--cut-first", "\(cut)"])
            do {
                let cost = try send("http://127.0.0.1:\(wire.port)/upload.bin")
                return (cost, try wire.stop())
            } catch {
                _ = try? wire.stop()
                throw error
            }
        }
    }
}
