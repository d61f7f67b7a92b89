import ArgumentParser
import Dispatch
import Foundation
import Glibc
import PushGateway

/// Many devices at once, for measuring a gateway: they enrol, connect, stay, acknowledge what comes, and come back together.
@main struct GatewayLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway-load",
        abstract: "Plays many devices of a gateway on this machine, and prints what that took as JSON.",
        discussion: "A device whose connection is lost comes back after a pause, as a real one does.")

    @Option(help: "The gateway's port for devices, on 127.0.0.1.")
    var port: Int

    @Option(help: "The gateway's socket for administration, which makes the devices.")
    var socket: String

    @Option(help: "Whom to trust, in PEM.")
    var authority: String

    @Option(help: "How many devices.")
    var devices = 1_000

    @Option(help: "Connections that are being made at the same time.")
    var parallel = 128

    @Option(help: "A topic for which each device registers.")
    var topic: String?

    @Option(help: "The file for their tokens, one a line; it is there when all devices are.")
    var tokens: String?

    @Option(help: "The gateway's process, whose memory is looked at.")
    var gateway: Int32?

    @Option(help: "Seconds for which they stay, idle.")
    var hold = 0.0

    @Flag(help: "They stay until SIGTERM or SIGINT.")
    var untilStopped = false

    @Option(help: "So many of them are cut off at once, and come back as real devices do.")
    var storm = 0

    func validate() throws {
        guard devices > 0, parallel > 0, hold >= 0 else { throw ValidationError("A number is above 0.") }
        guard (0...devices).contains(storm) else { throw ValidationError("There are not so many devices.") }
    }

    func run() async throws {
        let descriptors = DescriptorLimit.raise()
        guard descriptors >= devices + 200 else {
            throw GatewayError("\(devices) devices need as many descriptors; there are \(descriptors).")
        }
        // Asked for first, so that a signal that comes early is not lost.
        let stop = StopSignals()
        let fleet = try Fleet(host: "127.0.0.1", port: port, authority: authority, parallel: parallel)
        var report = LoadReport(devices: devices)
        report.enrolment = try await fleet.enrol(devices, AdministrationClient(path: socket))
        let before = try await settledMemory()
        report.connection = try await fleet.connect()
        if let topic { try await register(topic, fleet) }
        if let before, let after = try await settledMemory() {
            report.memory = LoadReport.Memory(before: before, after: after, devices: devices)
        }
        if untilStopped { await stop.wait() } else { try await Task.sleep(for: .seconds(hold)) }
        if storm > 0 { report.storm = try await fleet.storm(storm) }
        report.deliveries = fleet.deliveries.spread()
        (report.lost, report.returned) = (await fleet.lost, await fleet.returned)
        try await fleet.end()
        try print(report.json())
    }

    private func register(_ topic: String, _ fleet: Fleet) async throws {
        let all = try await fleet.register(topic)
        guard let tokens else { return }
        // In one step: whoever waits for the file finds all of them in it.
        try Data((all.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: tokens), options: .atomic)
    }

    /// Bytes of the gateway's resident memory, when what was closed or opened last is over; nil where it is not asked for.
    private func settledMemory() async throws -> Int? {
        guard let gateway else { return nil }
        try await Task.sleep(for: .seconds(2))
        let status = try String(contentsOfFile: "/proc/\(gateway)/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
            let words = line.split(whereSeparator: \.isWhitespace)
            if words.count > 1, let kibibytes = Int(words[1]) { return kibibytes * 1_024 }
        }
        throw GatewayError("The memory of process \(gateway) cannot be read.")
    }
}

/// SIGTERM and SIGINT, as something to wait for.
private struct StopSignals {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.signals = signals
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
    }

    func wait() async {
        for await _ in signals { break }
    }
}
