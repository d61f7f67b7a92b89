import Foundation
import Glibc

/// A measurement of the push gateway: accepted pushes per second, the delay to the app, and the cost of connections.
struct Push {
    let bench: Bench
    private static let aimedRate = 6_000.0
    private static let aimedDelay = 0.1
    private static let aimedMemory = 30_000.0
    private static let id = PushGateway.topic

    func run() throws -> Section {
        let options = bench.options
        let pushes = options.quick ? 4_000 : 30_000
        let rounds = options.rounds ?? (options.quick ? 1 : 3)
        let wakes = options.quick ? 5 : 50
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let devices = min(options.quick ? 1_000 : 10_000, Int(clamping: limit.rlim_max) - 1_000)
        var section = Section(
            title: "The push gateway",
            method:
                "The release build of `nightshift-gateway` with its database on disk. Its clients run on the same "
                + "\(ProcessInfo.processInfo.activeProcessorCount) processors. *Accepted*: `h2load -c 4 -m 50`, \(pushes) pushes of 100 bytes, "
                + "\(rounds) rounds, with one provider token; a 200 means that the push is on disk. *Stored* pushes are for 1,000 devices that are "
                + "offline. *Routed* pushes are for 100 connected devices, which acknowledge them. *One attempt* has `apns-expiration: 0` and is "
                + "never stored. nginx responds to the same requests with an empty 200 without reading them, which shows the maximum of `h2load` here. "
                + "*200 to the app*: the time from the provider's 200 to the callback of a suspended app on this device (\(wakes) times), including "
                + "the start of curl. *Connections*: \(devices) idle devices; then \(devices / 2) of them are disconnected at once, and "
                + "reconnect after 2.5 to 5 s, as devices do.",
            header: ["", "", "", ""])
        try accepted(pushes, rounds, &section)
        try delays(wakes, &section)
        try connections(devices, &section)
        return section
    }

    private func gateway(_ name: String) throws -> PushGateway {
        try PushGateway(binaries: bench.options.gateway, folder: try bench.disk.empty(name))
    }

    private static func finding(_ aim: String, _ measured: String, _ isMet: Bool) -> Section.Finding {
        Section.Finding(aim: aim, measured: measured, isMet: isMet)
    }

    // MARK: - Accepted pushes

    private func accepted(_ pushes: Int, _ rounds: Int, _ section: inout Section) throws {
        bench.note("accepted pushes")
        let gateway = try gateway("gateway")
        defer { gateway.stop() }
        let absent = try gateway.absentDevices(1_000)
        let (devices, connected) = try gateway.connectedDevices(100)
        defer {
            kill(devices.processID, SIGTERM)
            _ = try? devices.wait(limit: 20, since: Instant())
        }
        let bearer = "authorization: bearer \(try gateway.bearer())"
        let topic = "apns-topic: \(PushGateway.topic)"
        let empty = ["\(bench.origin.http2)/empty/"]
        let kinds: [(name: String, urls: [String], fields: [String], isOurs: Bool)] = [
            ("nginx, an empty 200", empty, [bearer, topic], false),
            ("stored", absent.map(gateway.url), [bearer, topic], true),
            ("routed", connected.map(gateway.url), [bearer, topic], true),
            ("one attempt", connected.map(gateway.url), [bearer, topic, "apns-expiration: 0"], true),
        ]
        var rates: [String: [Double]] = [:]
        var costs: [String: [Double]] = [:]
        // The first round is a warm-up.
        for round in 0...rounds {
            for kind in kinds {
                let before = try gateway.view.cpu()
                let rate = try h2load(round == 0 ? pushes / 4 : pushes, kind.urls, kind.fields)
                guard round > 0 else { continue }
                rates[kind.name, default: []].append(rate)
                costs[kind.name, default: []].append((try gateway.view.cpu() - before) / Double(pushes))
            }
        }
        let ceiling = rates[kinds[0].name] ?? []
        for kind in kinds {
            let own = rates[kind.name] ?? []
            let cost = (costs[kind.name] ?? []).median
            let ratio = zip(own, ceiling).map { $0 / $1 }.median
            section.rows.append([
                "Accepted: \(kind.name)", Format.number(own.median, 0) + " per second",
                kind.isOurs ? Format.number(1 / cost, 0) + " per second of the gateway's CPU time" : "",
                kind.isOurs ? Format.number(ratio) + " of nginx" : "",
            ])
            guard kind.name == "stored" || kind.name == "routed" else { continue }
            section.findings.append(
                Self.finding(
                    "\(kind.name): \(Int(Self.aimedRate)) pushes per second while `h2load` runs",
                    Format.number(own.median, 0), own.median >= Self.aimedRate))
        }
    }

    /// Sends `count` pushes, which must all be answered with 200. Returns the pushes per second.
    private func h2load(_ count: Int, _ urls: [String], _ fields: [String]) throws -> Double {
        let folder = bench.memory.path
        let (body, list, output) = ("\(folder)/payload", "\(folder)/urls", "\(folder)/h2load")
        try
            #"{"aps":{"alert":{"title":"Dear reader","body":"You have mail"},"badge":3},"note":"about a hundred bytes"}"#
            .write(toFile: body, atomically: true, encoding: .utf8)
        try urls.joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
        try? FileManager.default.removeItem(atPath: output)
        try ChildProcess.require(
            ["h2load", "-n", "\(count)", "-c", "4", "-m", "50", "-d", body, "-i", list]
                + fields.flatMap { ["-H", $0] }, log: output, limit: 600)
        let text = try String(contentsOfFile: output, encoding: .utf8)
        guard text.contains("status codes: \(count) 2xx"), let end = text.range(of: " req/s"),
            let rate = Double(text[..<end.lowerBound].split(separator: " ").last ?? "")
        else { throw BenchError("not every push was accepted: \(text)") }
        return rate
    }

    // MARK: - To the app

    private func delays(_ count: Int, _ section: inout Section) throws {
        bench.note("pushes to an app")
        let gateway = try gateway("gateway-app")
        defer { gateway.stop() }
        let service = try bench.service(in: bench.disk, home: "push")
        defer {
            // Without this, the app would outlive the service.
            try? service.ask(["app", "quit", Self.id])
            service.stop()
        }
        let app = BenchApplication(bench: bench, service: service, id: Self.id)
        try app.install("\(bench.origin.plain) 0", modes: "remote-notification")
        try service.ask(["push", "enrol", try gateway.enrolmentURL(), "--authority", gateway.authority])
        let token = try service.answer(["push", "token", Self.id])
        try service.ask(["app", "launch", Self.id])
        try service.ask(["app", "background", Self.id])
        let bearer = try gateway.bearer()
        var delays: [Double] = []
        for note in 0..<count {
            try app.wait("the suspension", 20) { try app.state() == "suspended" }
            let accepted = try push(gateway.url(token), bearer, note)
            try app.wait("push \(note)", 30) { app.log().contains { $0.hasPrefix("pushed \(note) ") } }
            guard let line = app.log().first(where: { $0.hasPrefix("pushed \(note) ") }),
                let called = line.split(separator: " ").last.flatMap({ Double($0) })
            else { throw BenchError("the app does not report when it was called") }
            delays.append(called - accepted)
        }
        section.rows.append([
            "200 to the app: p50, p99", Format.milliseconds(delays.median) + " ms",
            Format.milliseconds(delays.percentile(99)) + " ms", "",
        ])
        let worst = delays.percentile(99)
        section.findings.append(
            Self.finding(
                "200 to the app: p99 below \(Int(Self.aimedDelay * 1_000)) ms", Format.milliseconds(worst) + " ms",
                worst < Self.aimedDelay))
    }

    /// Sends a silent push. Returns the time of its 200 response in seconds since 1970, or a slightly earlier time, so
    /// that the start of curl counts against the gateway. (The times of curl's `--trace-time` are wrong by up to a
    /// second.)
    private func push(_ url: String, _ bearer: String, _ note: Int) throws -> Double {
        let output = "\(bench.disk.path)/curl"
        try? FileManager.default.removeItem(atPath: output)
        let start = Date.now.timeIntervalSince1970
        try ChildProcess.require(
            [
                "curl", "-q", "--silent", "--http2", "--insecure", "--max-time", "20", "--write-out",
                "%{http_code} %{time_starttransfer}", "-H", "authorization: bearer \(bearer)", "-H",
                "apns-topic: \(PushGateway.topic)", "-H", "apns-push-type: background", "-H", "apns-priority: 5",
                "--data-binary", #"{"aps":{"content-available":1},"note":\#(note)}"#, url,
            ], log: output, limit: 30)
        let words = try String(contentsOfFile: output, encoding: .utf8).split(separator: " ")
        guard words.count == 2, words[0] == "200", let seconds = Double(words[1]) else {
            throw BenchError("the push was not accepted; see \(output)")
        }
        return start + seconds
    }

    // MARK: - Connections

    private func connections(_ devices: Int, _ section: inout Section) throws {
        bench.note("\(devices) connections")
        let gateway = try gateway("gateway-devices")
        defer { gateway.stop() }
        let output = "\(gateway.folder)/report"
        let arguments = [
            "--devices", "\(devices)", "--gateway", "\(gateway.view.processID)", "--storm", "\(devices / 2)",
        ]
        try ChildProcess.require(gateway.load(arguments), log: output, limit: 900)
        let report = try JSONDecoder().decode(DevicesReport.self, from: try Data(contentsOf: URL(filePath: output)))
        guard let memory = report.memory?.perConnection, let storm = report.storm else {
            throw BenchError("the report of the devices is incomplete; see \(output)")
        }
        section.rows += [
            [
                "Connecting \(devices)", Format.number(report.connection.perSecond, 0) + " per second",
                "\(report.connection.failures) failures", "\(report.lost) lost",
            ],
            ["Memory of an idle connection", Format.number(memory / 1_000, 1) + " kB", "", ""],
            [
                "Storm of \(devices / 2): all have reconnected", Format.number(storm.seconds, 1) + " s",
                "\(storm.handshakesPerSecond) in the busiest second", "\(storm.failedAttempts) failed attempts",
            ],
            [
                "Storm: an attempt, p50, p99", Format.number(storm.attempt.p50, 2) + " s",
                Format.number(storm.attempt.p99, 2) + " s", "",
            ],
        ]
        section.findings.append(
            Self.finding(
                "\(Int(Self.aimedMemory / 1_000)) kB for an idle connection of \(devices)",
                Format.number(memory / 1_000, 1) + " kB", memory <= Self.aimedMemory))
    }
}
