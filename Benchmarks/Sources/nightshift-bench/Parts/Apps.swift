import Foundation
import Glibc

/// A measurement of apps: how soon a suspended app is notified of a finished download, how fast a delegate handles
/// events, and the costs of the library in an idle app.
struct Apps {
    let bench: Bench
    private static let id = "org.example.Bench"

    func run() throws -> Section {
        let wakes = bench.options.quick ? 3 : 15
        let events = bench.options.quick ? 200 : 2_000
        var section = Section(
            title: "Apps",
            method:
                "The app links the library. *Wake*: the time from the write of the last byte of a download until the delegate is called, while the app "
                + "is suspended (\(wakes) times). *Events*: \(events) downloads end while the app is not running; then it is launched and receives "
                + "the events, and each file is linked, delivered and acknowledged. *Idle*: the app in the foreground, for 15 s, as `/proc` shows it.",
            header: ["", "", ""])
        bench.note("apps")
        try Workspace.fill("\(bench.origin.root)/wake.bin", size: 384 << 10, seed: 5)
        try Workspace.fill("\(bench.origin.root)/event.bin", size: 4 << 10, seed: 6)
        let service = try bench.service(in: bench.disk, home: "apps")
        defer {
            // Otherwise the app would outlive the service.
            try? service.ask(["app", "quit", Self.id])
            service.stop()
        }

        let app = BenchApplication(bench: bench, service: service, id: Self.id)
        let latencies = try wake(app, wakes)
        section.rows.append([
            "Wake: p50, p99", Format.milliseconds(latencies.median) + " ms",
            Format.milliseconds(latencies.percentile(99)) + " ms",
        ])
        try service.ask(["app", "quit", Self.id])
        let rate = try deliver(app, events)
        section.headlines.append(
            Section.Headline(
                what: "Waking a suspended app after its download",
                result: "\(Format.milliseconds(latencies.median)) ms; then \(Format.number(rate, 0)) events per second")
        )
        section.rows.append(["Events", Format.number(rate, 0) + " per second", ""])
        for (prefix, label) in [
            ("added \(events), ", "`resume()`, each on disk when it returns"),
            ("concurrently ", "`resume()` on eight threads at once, for each call"),
        ] {
            if let each = Self.secondsEach(app.log().last { $0.hasPrefix(prefix) }?.dropFirst(prefix.count)) {
                section.rows.append([label, Format.milliseconds(each) + " ms", ""])
            }
        }
        section.rows += try idle(app)
        return section
    }

    /// Returns the seconds for each call in a line of the app such as `1000 in 2.1`.
    private static func secondsEach(_ line: Substring?) -> Double? {
        let words = line?.split(separator: " ") ?? []
        guard words.count == 3, let count = Double(words[0]), let seconds = Double(words[2]) else { return nil }
        return seconds / count
    }

    private func wake(_ app: BenchApplication, _ count: Int) throws -> [Double] {
        try app.install("\(bench.origin.plain)/slow/wake.bin 1", modes: "transfer")
        for round in 0..<count {
            try app.service.ask(round == 0 ? ["app", "launch", Self.id] : ["app", "activate", Self.id])
            try app.wait("the download's start", 20) { app.log().count { $0.hasPrefix("added") } == round + 1 }
            try app.service.ask(["app", "background", Self.id])
            try app.wait("the suspension", 10) { try app.state() == "suspended" }
            try app.wait("the wake", 20) { app.log().count { $0.hasPrefix("completed") } == round + 1 }
            try app.wait("the rest", 20) { try app.state() == "suspended" }
        }
        return app.log().compactMap { line in
            line.hasPrefix("finished ") ? Double(line.dropFirst("finished ".count)) : nil
        }
    }

    private func deliver(_ app: BenchApplication, _ count: Int) throws -> Double {
        // The log also contains earlier launches.
        let before = app.log().count { $0.hasPrefix("completed") }
        try app.install("\(bench.origin.plain)/event.bin \(count)", modes: "transfer")
        try app.service.ask(["app", "launch", Self.id])
        try app.wait("the downloads' acceptance", 20) { app.log().contains { $0.hasPrefix("added \(count), ") } }
        // A force-quit would cancel the downloads, so the app is killed as in a crash.
        try app.service.ask(["app", "kill", Self.id])
        let early = app.log().count { $0.hasPrefix("completed") } - before
        try app.wait("the events", 180) { app.log().count { $0.hasPrefix("completed") } - before == count }
        let times = app.log().filter { $0.hasPrefix("completed ") }.dropFirst(before + early).compactMap {
            Double($0.dropFirst("completed ".count))
        }
        guard let first = times.first, let last = times.last, last > first else {
            throw BenchError("no events remained for the launch")
        }
        return Double(times.count - 1) / (last - first)
    }

    private func idle(_ app: BenchApplication) throws -> [[String]] {
        try app.wait("the rest", 60) { try app.state() == "suspended" }
        try app.service.ask(["app", "quit", Self.id])
        // An app without downloads.
        try app.install("\(bench.origin.plain)/event.bin 0", modes: "transfer")
        try app.service.ask(["app", "launch", Self.id])
        Thread.sleep(forTimeInterval: 5)
        let known = try app.service.client().require("GET", "/v1/apps/\(Self.id)").json()
        guard let process = known["processID"] as? Int else { throw BenchError("the app no longer exists") }
        let view = ProcessView(processID: pid_t(process))
        let switches = try view.voluntarySwitches()
        Thread.sleep(forTimeInterval: 15)
        let perMinute = Double(try view.wakeUps(since: switches)) * 4
        return [
            ["Idle: memory, threads", Format.mebibytes(try view.memory()) + " MiB", String(try view.threads())],
            ["Idle: wake-ups", Format.number(perMinute, 0) + " per minute", ""],
        ]
    }
}
