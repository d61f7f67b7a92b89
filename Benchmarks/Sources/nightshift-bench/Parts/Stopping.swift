import Foundation

/// A measurement of the time from SIGTERM to the end of a service, with running transfers and idle.
struct Stopping {
    let bench: Bench

    func run() throws -> Section {
        let rounds = bench.options.rounds ?? (bench.options.quick ? 3 : 10)
        var section = Section(
            title: "Stopping",
            method:
                "The time from SIGTERM to the end of an idle service, and of one with 16 downloads at 256 KiB/s each. Medians of \(rounds) rounds.",
            header: ["", "ms", "Divided by idle"])
        bench.note("the end after SIGTERM")
        try Workspace.fill("\(bench.origin.root)/slow.bin", size: 256 << 20, seed: 3)
        var (idle, busy): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            idle.append(try stop { _ in })
            busy.append(try stop { try Latency(bench: bench).prepare($0, waiting: 0) })
        }
        let ratio = zip(busy, idle).map { $0 / $1 }.median
        section.rows.append(["idle", Format.milliseconds(idle.median), "1"])
        section.rows.append(["16 transfers", Format.milliseconds(busy.median), Format.number(ratio, 1)])
        section.findings.append(
            Section.Finding(
                aim: "SIGTERM ends a service with running transfers within 2 s",
                measured: "\(Format.milliseconds(busy.max() ?? 0)) ms at most", isMet: busy.allSatisfy { $0 < 2 }))
        return section
    }

    /// Returns the seconds from SIGTERM to the end of a service that `prepare` has set up.
    private func stop(after prepare: (UnixClient) throws -> Void) throws -> Double {
        let service = try bench.service(in: bench.disk)
        do {
            try prepare(try service.client())
        } catch {
            service.stop()
            throw error
        }
        let start = Instant()
        service.stop()
        return start.elapsed
    }
}
