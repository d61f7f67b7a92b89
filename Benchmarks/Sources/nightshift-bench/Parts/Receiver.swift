import Foundation

/// A measurement of how long the receiver is on for regions, and how late a crossing is reported.
struct Receiver {
    let bench: Bench

    /// The output of the program `receiver-report`.
    private struct Report: Decodable {
        var rows: [Row]
    }

    private struct Row: Decodable {
        var strategy: String
        var kind: String
        var days: Int
        var receiverSeconds: Double
        var heldSeconds: Double
        var fixes: Int
        var crossings: Int
        var missed: Int
        var madeUp: Int
        var delays: [Double]

        /// Returns a percentile of the delays, which are already sorted.
        func delay(_ part: Double) -> Double {
            delays.isEmpty ? .nan : delays[min(delays.count - 1, Int(Double(delays.count) * part))]
        }
    }

    private static let names = [
        ("planned", "Nightshift"), ("everyFiveMinutes", "Every 5 minutes"), ("always", "Always on"),
    ]
    private static let kinds = [("varying", "8 to 20 m"), ("steady", "17 m")]
    /// Two limits: the share of the time of a receiver that is always on, and the delay in seconds.
    private static let (largestShare, longestDelay) = (0.05, 90.0)

    func run() throws -> Section {
        let weeks = bench.options.quick ? 1 : 5
        var section = Section(
            title: "Regions: how long the receiver is on",
            method:
                "A simulated commuter (docs/decisions/0041) with five regions, over \(weeks == 1 ? "one week" : "\(weeks) weeks"). The receiver needs "
                + "4 s for a fix, or 20 s if it was off for two hours. It reports an accuracy that varies from 8 to 20 m, or is always 17 m, and its "
                + "error is at most that. A request ends as in the service. The column for gpsd includes the minute for which gpsd keeps the "
                + "receiver on after each request. The delay is the time from the crossing of the boundary to the wake of the app, including the "
                + "20 s that a crossing has to last. Nothing is timed: the result is the same on every run.",
            header: [
                "Receiver", "Accuracy", "On a day (s)", "Share of the time", "With gpsd", "Fixes a day", "Crossings",
                "Missed", "False",
                "Median delay (s)", "90 % (s)", "Longest (s)",
            ])
        bench.note("the receiver over \(weeks == 1 ? "a week" : "\(weeks) weeks")")
        let file = "\(try bench.memory.empty("receiver"))/report.json"
        try ChildProcess.require(
            ["\(bench.options.binaries)/receiver-report", "--output", file, "--weeks", String(weeks)],
            log: bench.memory.log, limit: 900)
        let report = try JSONDecoder().decode(Report.self, from: try Data(contentsOf: URL(filePath: file)))
        guard let always = report.rows.first(where: { $0.strategy == "always" })?.receiverSeconds else {
            throw BenchError("receiver-report has no row for a receiver that is always on")
        }
        for (strategy, name, kind, accuracy) in Self.names.flatMap({ name in
            Self.kinds.map { (name.0, name.1, $0.0, $0.1) }
        }) {
            guard let row = report.rows.first(where: { $0.strategy == strategy && $0.kind == kind }) else { continue }
            let days = Double(row.days)
            section.rows.append(
                [
                    name, accuracy, Format.number(row.receiverSeconds / days, 0),
                    Format.number(100 * row.receiverSeconds / always, 1) + " %",
                    Format.number(100 * row.heldSeconds / always, 1) + " %",
                    Format.number(Double(row.fixes) / days, 0), String(row.crossings), String(row.missed),
                    String(row.madeUp),
                ] + [0.5, 0.9, 1].map { Format.number(row.delay($0), 0) })
            if strategy == "planned" {
                section.findings += Self.findings(row, accuracy, share: row.receiverSeconds / always)
            }
        }
        return section
    }

    private static func findings(_ row: Row, _ accuracy: String, share: Double) -> [Section.Finding] {
        [
            Section.Finding(
                aim: "\(accuracy): on for at most 5 % of the time", measured: Format.number(100 * share, 1) + " %",
                isMet: share <= largestShare),
            Section.Finding(
                aim: "\(accuracy): a median delay under 90 s", measured: Format.number(row.delay(0.5), 0) + " s",
                isMet: row.delay(0.5) < longestDelay),
            Section.Finding(
                aim: "\(accuracy): every crossing reported, none false",
                measured: "\(row.missed) missed, \(row.madeUp) false",
                isMet: row.missed == 0 && row.madeUp == 0),
        ]
    }
}
