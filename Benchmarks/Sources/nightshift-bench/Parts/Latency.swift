import Foundation

/// A measurement of the API's response time under load.
struct Latency {
    let bench: Bench

    func run() throws -> Section {
        let waiting = bench.options.quick ? 2_000 : 10_000
        let requests = bench.options.quick ? 300 : 2_000
        var section = Section(
            title: "Response times while 16 transfers run and \(waiting) wait",
            method:
                "\(requests) requests of each kind, one after the other over one connection, while 16 downloads run at 256 KiB/s each.",
            header: ["Request", "p50 ms", "p99 ms", "Slowest ms"])
        bench.note("latency of the API")
        try Workspace.fill("\(bench.origin.root)/slow.bin", size: 256 << 20, seed: 3)
        let service = try bench.service(in: bench.disk)
        defer { service.stop() }
        let client = try service.client()
        try prepare(client, waiting: waiting)

        for target in ["/v1/tasks?limit=50", "/v1/status"] {
            var times: [Double] = []
            for _ in 0..<requests {
                let start = Instant()
                _ = try client.require("GET", target)
                times.append(start.elapsed)
            }
            section.rows.append([
                "GET \(target)", Format.milliseconds(times.percentile(50)), Format.milliseconds(times.percentile(99)),
                Format.milliseconds(times.max() ?? 0),
            ])
            let slow = times.percentile(99)
            if target.contains("tasks") {
                section.headlines.append(
                    Section.Headline(
                        what: "A page of 50 of 10,000 transfers while 16 run",
                        result: "\(Format.milliseconds(slow)) ms at the 99th percentile"))
            }
            section.findings.append(
                Section.Finding(
                    aim: "GET \(target): p99 below 50 ms", measured: "\(Format.milliseconds(slow)) ms",
                    isMet: slow < 0.05))
        }
        guard try running(client) == 16 else { throw BenchError("the 16 transfers ended too early") }
        return section
    }

    /// Starts sixteen slow transfers, and adds `waiting` tasks that begin later.
    func prepare(_ client: UnixClient, waiting: Int) throws {
        _ = try client.require("PATCH", "/v1/settings", body: #"{"maximumTransfers":32}"#)
        _ = try client.require("PUT", "/v1/sessions/slow", body: #"{"httpMaximumConnectionsPerHost":16}"#)
        let slow = (0..<16).map { #"{"url":"\#(bench.origin.plain)/slow/slow.bin?\#($0)"}"# }
        _ = try client.require(
            "POST", "/v1/tasks", body: #"{"session":"slow","tasks":[\#(slow.joined(separator: ","))]}"#)
        let tomorrow = Date(timeIntervalSinceNow: 86_400).formatted(.iso8601)
        for start in stride(from: 0, to: waiting, by: 5_000) {
            let body = Backlog.body(start..<min(start + 5_000, waiting), false, begin: tomorrow)
            _ = try client.require("POST", "/v1/tasks", body: body)
        }
        let start = Instant()
        while try running(client) < 16 {
            guard start.elapsed < 30 else { throw BenchError("only \(try running(client)) of 16 transfers run") }
            Thread.sleep(forTimeInterval: 0.05)
        }
    }

    private func running(_ client: UnixClient) throws -> Int {
        let status = try client.require("GET", "/v1/status").json()
        return (status["tasks"] as? [String: Int])?["running"] ?? 0
    }
}
