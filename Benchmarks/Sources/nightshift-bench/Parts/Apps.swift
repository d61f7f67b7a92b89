import Foundation
import Glibc

/// Apps: how soon a suspended one hears that its download is done, how fast events go through a delegate, and what the
/// library costs an app that does nothing.
struct Apps {
    let bench: Bench
    private static let id = "org.example.Bench"

    func run() throws -> Section {
        let wakes = bench.options.quick ? 3 : 15
        let events = bench.options.quick ? 200 : 2_000
        var section = Section(
            title: "Apps",
            method:
                "An app that links the library. *Wake*: from the last byte of its download being written to its delegate being called, while the app is "
                + "suspended (\(wakes) times). *Events*: \(events) downloads end while the app is not running; then it is launched and hears of "
                + "them, each file linked, handed over and acknowledged. *Idle*: the app in front, for 15 s, as `/proc` shows it.",
            header: ["", "", ""])
        bench.note("apps")
        try Workspace.fill("\(bench.origin.root)/wake.bin", size: 384 << 10, seed: 5)
        try Workspace.fill("\(bench.origin.root)/event.bin", size: 4 << 10, seed: 6)
        let service = try bench.service(in: bench.disk, home: "apps")
        defer {
            // It would outlive the service.
            try? service.ask(["app", "quit", Self.id])
            service.stop()
        }

        let latencies = try wake(service, wakes)
        section.rows.append([
            "Wake: p50, p99", Format.milliseconds(latencies.median) + " ms",
            Format.milliseconds(latencies.percentile(99)) + " ms",
        ])
        try service.ask(["app", "quit", Self.id])
        let rate = try deliver(service, events)
        section.rows.append(["Events", Format.number(rate, 0) + " per second", ""])
        if let added = log(service).last(where: { $0.hasPrefix("added \(events) in ") }),
            let seconds = Double(added.dropFirst("added \(events) in ".count))
        {
            let each = Format.milliseconds(seconds / Double(events))
            section.rows.append(["`resume()`, each on disk when it returns", each + " ms", ""])
        }
        section.rows += try idle(service)
        return section
    }

    private func install(_ service: Service, _ arguments: String) throws {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "bench-app")
        let entry = "\(bench.disk.path)/\(Self.id).desktop"
        let text = """
            [Desktop Entry]
            Type=Application
            Name=Bench
            Exec=\(program.path) \(arguments)
            X-Nightshift-BackgroundModes=transfer;

            """
        try text.write(toFile: entry, atomically: true, encoding: .utf8)
        try service.ask(["app", "install", entry])
    }

    private func log(_ service: Service) -> [String] {
        let path = "\(service.home)/state/apps/\(Self.id).log"
        return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    private func wait(_ what: String, _ seconds: Double, until isSo: () throws -> Bool) throws {
        let start = Instant()
        while try !isSo() {
            guard start.elapsed < seconds else { throw BenchError("\(what) did not happen in \(seconds) s") }
            usleep(5_000)
        }
    }

    private func state(_ service: Service) throws -> String {
        try service.client().require("GET", "/v1/apps/\(Self.id)").json()["state"] as? String ?? ""
    }

    private func wake(_ service: Service, _ count: Int) throws -> [Double] {
        try install(service, "\(bench.origin.plain)/slow/wake.bin 1")
        for round in 0..<count {
            try service.ask(round == 0 ? ["app", "launch", Self.id] : ["app", "activate", Self.id])
            try wait("the download's start", 20) { log(service).count { $0.hasPrefix("added") } == round + 1 }
            try service.ask(["app", "background", Self.id])
            try wait("the suspension", 10) { try state(service) == "suspended" }
            try wait("the wake", 20) { log(service).count { $0.hasPrefix("completed") } == round + 1 }
            try wait("the rest", 20) { try state(service) == "suspended" }
        }
        return log(service).compactMap { line in
            line.hasPrefix("finished ") ? Double(line.dropFirst("finished ".count)) : nil
        }
    }

    private func deliver(_ service: Service, _ count: Int) throws -> Double {
        // Its log tells of earlier launches too.
        let before = log(service).count { $0.hasPrefix("completed") }
        try install(service, "\(bench.origin.plain)/event.bin \(count)")
        try service.ask(["app", "launch", Self.id])
        try wait("the downloads' acceptance", 20) { log(service).contains { $0.hasPrefix("added \(count) ") } }
        // Force-quit would cancel them; this is a crash.
        try service.ask(["app", "kill", Self.id])
        let early = log(service).count { $0.hasPrefix("completed") } - before
        try wait("the events", 180) { log(service).count { $0.hasPrefix("completed") } - before == count }
        let times = log(service).filter { $0.hasPrefix("completed ") }.dropFirst(before + early).compactMap {
            Double($0.dropFirst("completed ".count))
        }
        guard let first = times.first, let last = times.last, last > first else {
            throw BenchError("no events were left for the launch")
        }
        return Double(times.count - 1) / (last - first)
    }

    private func idle(_ service: Service) throws -> [[String]] {
        try wait("the rest", 60) { try state(service) == "suspended" }
        try service.ask(["app", "quit", Self.id])
        // One that wants nothing.
        try install(service, "\(bench.origin.plain)/event.bin 0")
        try service.ask(["app", "launch", Self.id])
        Thread.sleep(forTimeInterval: 5)
        let app = try service.client().require("GET", "/v1/apps/\(Self.id)").json()
        guard let process = app["processID"] as? Int else { throw BenchError("the app is gone") }
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
