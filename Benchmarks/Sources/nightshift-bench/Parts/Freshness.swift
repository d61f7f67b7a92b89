import Foundation

/// A measurement of how often content is fresh when it is opened, by the strategy of background fetches.
struct Freshness {
    let bench: Bench

    /// The output of the program `freshness-report`.
    private struct Report: Decodable {
        var rows: [Row]
    }

    private struct Row: Decodable {
        var person: String?
        var perAppAndDay: Int
        var openings: Int
        var fresh: [String: Double]
        var deviceWakes: [String: Int]
        var fetches: [String: Int]
    }

    private static let columns = ["none", "fixed", "awakeHours", "alone", "planner", "oracle"]
    private static let aims = [4: 1.45, 8: 1.25]

    func run() throws -> Section {
        let options = bench.options
        let counts = options.quick ? [4] : [2, 4, 8, 12]
        let people =
            options.traces.isEmpty
            ? "Six simulated people (docs/decisions/0036) with 25 apps over 60 days, of which the first 14 are for learning"
            : "Use of apps from \(options.traces.map { URL(filePath: $0).lastPathComponent }.joined(separator: ", "))"
        var section = Section(
            title: "Background fetches: the share of fresh openings",
            method:
                "\(people). The tables show the share of openings at most 60 minutes after a fetch or the last use. All strategies have the same "
                + "number of fetches: *fixed* over 24 h; over the *awake hours*, known in hindsight; by the *planner*, with one budget for the device; "
                + "and by an *oracle*. *Alone* is the planner with each fetch at its own best time. Otherwise the planner lets fetches share "
                + "wakes, and its own checks that wake no app count as device wakes as well. Nothing is timed: the result is the same on every run.",
            header: [
                "Fetches an app and day", "Person", "None", "Fixed", "Awake hours", "Alone", "Planner", "Oracle",
                "Planner ÷ awake hours", "Device wakes alone", "Device wakes",
            ])
        bench.note("freshness at \(counts.map(String.init).joined(separator: ", ")) fetches an app and day")
        let file = "\(try bench.memory.empty("freshness"))/report.json"
        let command = ["\(options.binaries)/freshness-report", "--output", file, "--per-day"] + counts.map(String.init)
        try ChildProcess.require(
            command + options.traces.flatMap { ["--trace", $0] }, log: bench.memory.log, limit: 900)
        let report = try JSONDecoder().decode(Report.self, from: try Data(contentsOf: URL(filePath: file)))
        for row in report.rows {
            let wakes = ["alone", "planner"].map { String(row.deviceWakes[$0] ?? 0) }
            section.rows.append(
                [String(row.perAppAndDay), row.person ?? "**all**"]
                    + Self.columns.map { Format.number(row.fresh[$0] ?? .nan, 3) }
                    + [Format.number(ratio(row))] + wakes)
            guard row.person == nil else { continue }
            if let aim = Self.aims[row.perAppAndDay] {
                section.findings.append(
                    Section.Finding(
                        aim: "at least \(aim) × awake hours only at \(row.perAppAndDay)",
                        measured: Format.number(ratio(row)), isMet: ratio(row) >= aim))
            }
            section.findings.append(coalescing(row))
        }
        return section
    }

    private func ratio(_ row: Row) -> Double { (row.fresh["planner"] ?? .nan) / (row.fresh["awakeHours"] ?? .nan) }

    private func coalescing(_ row: Row) -> Section.Finding {
        let (one, other) = (Double(row.deviceWakes["planner"] ?? 0), Double(row.deviceWakes["alone"] ?? 0))
        let saved = 100 * (1 - one / other)
        let points = 100 * ((row.fresh["alone"] ?? .nan) - (row.fresh["planner"] ?? .nan))
        return Section.Finding(
            aim: "40 % fewer device wakes for at most 2 points of freshness at \(row.perAppAndDay)",
            measured: "\(Format.number(saved, 0)) % fewer for \(Format.number(points, 1)) points",
            isMet: saved >= 40 && points <= 2)
    }
}
