import ArgumentParser
import Dispatch
import Foundation
import Glibc
import PushGateway

/// A load generator that simulates many devices. The devices enrol, connect, stay connected, acknowledge pushes, and
/// reconnect together.
@main struct GatewayLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway-load",
        abstract: "Simulates many devices of a gateway on this machine, and prints measurements as JSON.",
        discussion: "A device whose connection is lost reconnects after a pause, as a real one does.")

    @Option(help: "The gateway's port for devices, on 127.0.0.1.")
    var port: Int

    @Option(help: "The gateway's socket for administration, over which devices are enrolled.")
    var socket: String

    @Option(help: "The PEM file of the trusted authority.")
    var authority: String

    @Option(help: "The number of devices.")
    var devices = 1_000

    @Option(help: "The number of connections made at the same time.")
    var parallel = 128

    @Option(help: "A topic for which each device registers.")
    var topic: String?

    @Option(help: "The file for the tokens, one per line. It is written when all devices are connected.")
    var tokens: String?

    @Option(help: "The gateway's process id, to measure its memory.")
    var gateway: Int32?

    @Option(help: "Seconds for which the devices stay connected and idle.")
    var hold = 0.0

    @Flag(help: "Keeps the devices connected until SIGTERM or SIGINT.")
    var untilStopped = false

    @Option(help: "The number of devices to disconnect at once. They reconnect as real devices do.")
    var storm = 0

    func validate() throws {
        guard devices > 0 else { throw ValidationError("--devices must be above 0.") }
        guard parallel > 0 else { throw ValidationError("--parallel must be above 0.") }
        guard hold >= 0 else { throw ValidationError("--hold must not be below 0.") }
        guard (0...devices).contains(storm) else {
            throw ValidationError("--storm must be between 0 and the number of devices.")
        }
    }

    func run() async throws {
        let descriptors = DescriptorLimit.raise()
        guard descriptors >= devices + 200 else {
            throw GatewayError("\(devices) devices need a descriptor each, but the limit is \(descriptors).")
        }
        // Set up the signal handlers first, so that an early signal is not lost.
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
        // Write atomically, so that a reader of the file finds either no file or all tokens.
        try Data((all.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: tokens), options: .atomic)
    }

    /// Returns the gateway's resident memory in bytes, after a pause in which recent connections and disconnections
    /// take effect. Returns nil if the memory is not measured.
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

/// An event that occurs when the process receives SIGTERM or SIGINT.
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
