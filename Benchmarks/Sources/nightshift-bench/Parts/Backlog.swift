import Foundation

/// A measurement of a hundred thousand tasks: how fast they are accepted, their memory, and the time to start with
/// them.
struct Backlog {
    let bench: Bench
    private let batch = 5_000

    func run() throws -> Section {
        let count = bench.options.quick ? 20_000 : 100_000
        var section = Section(
            title: "Adding \(count) transfers",
            method:
                "Batches of \(batch) over one connection. Each batch is on disk when the response arrives. *Paused* transfers wait to be resumed, "
                + "and *waiting* ones for a host that refuses connections. The start is the time from the start of the process to its response "
                + "to `GET /v1/status`.",
            header: [
                "Transfers", "Transfers/s", "Slowest batch ms", "Service MiB", "Peak MiB", "Start s", "MiB after start",
            ])
        for isSuspended in [true, false] {
            let label = isSuspended ? "paused" : "waiting"
            bench.note("a backlog of \(count) tasks, \(label)")
            let result = try measure(count, suspended: isSuspended)
            section.rows.append([
                label, Format.number(result.rate, 0), Format.milliseconds(result.slowest),
                Format.mebibytes(result.memory), Format.mebibytes(result.peak), Format.number(result.start, 3),
                Format.mebibytes(result.memoryAfter),
            ])
            let memory = max(result.memory, result.memoryAfter)
            if isSuspended {
                section.headlines.append(
                    Section.Headline(
                        what: section.title + ", each on disk",
                        result: "\(Format.number(result.rate, 0)) per second; the service then has "
                            + "\(Format.mebibytes(memory)) MiB and starts in \(Format.number(result.start, 2)) s"))
            }
            section.findings += [
                Section.Finding(
                    aim: "\(label): 20,000 transfers/s", measured: Format.number(result.rate, 0),
                    isMet: result.rate >= 20_000),
                Section.Finding(
                    aim: "\(label): memory below 60 MB", measured: "\(Format.mebibytes(memory)) MiB",
                    isMet: memory < 60_000_000),
                Section.Finding(
                    aim: "\(label): start in less than 1 s", measured: "\(Format.number(result.start, 3)) s",
                    isMet: result.start < 1),
            ]
        }
        return section
    }

    private struct Result {
        var rate: Double
        var slowest: Double
        var memory: Int64
        var peak: Int64
        var start: Double
        var memoryAfter: Int64
    }

    private func measure(_ count: Int, suspended: Bool) throws -> Result {
        let service = try bench.service(in: bench.disk)
        let bodies = stride(from: 0, to: count, by: batch).map { Self.body($0..<min($0 + batch, count), suspended) }
        var times: [Double] = []
        let memory: Int64
        let peak: Int64
        do {
            defer { service.stop() }
            let client = try service.client()
            for body in bodies {
                let start = Instant()
                _ = try client.require("POST", "/v1/tasks", body: body)
                times.append(start.elapsed)
            }
            memory = try service.view.memory()
            peak = try service.view.peakMemory()
        }
        let again = try bench.restart(service)
        defer { again.stop() }
        let memoryAfter = try again.view.memory()
        let status = try again.client().require("GET", "/v1/status").json()
        let known = (status["tasks"] as? [String: Int])?.values.reduce(0, +) ?? 0
        guard known == count else { throw BenchError("\(known) of \(count) tasks exist after the restart") }
        return Result(
            rate: Double(count) / times.reduce(0, +), slowest: times.max() ?? 0, memory: memory, peak: peak,
            start: again.startTime, memoryAfter: memoryAfter)
    }

    /// Returns the body of one request. Port 9 (discard) on loopback refuses connections.
    static func body(_ numbers: Range<Int>, _ suspended: Bool, begin: String? = nil) -> String {
        let extra = (suspended ? #","suspended":true"# : "") + (begin.map { #","earliestBeginDate":"\#($0)""# } ?? "")
        let tasks = numbers.map { #"{"url":"http://127.0.0.1:9/file-\#($0).bin"\#(extra)}"# }
        return #"{"tasks":[\#(tasks.joined(separator: ","))]}"#
    }
}
