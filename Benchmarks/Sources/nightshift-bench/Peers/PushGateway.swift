import Foundation
import Glibc

/// A nightshift-gateway for this run with one team, its key and one topic, and the devices of `gateway-load`.
final class PushGateway {
    static let topic = "org.example.Bench"
    private static let team = "TEAM000001"
    private static let key = "KEY0000001"

    let folder: String
    /// The PEM file of the trusted authority.
    var authority: String { "\(folder)/tls.pem" }
    private(set) var providers = 0
    private(set) var devices = 0
    private let binaries: String
    private let process: ChildProcess

    init(binaries: String, folder: String) throws {
        self.binaries = binaries
        self.folder = folder
        let log = "\(folder)/log"
        try ChildProcess.require(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                "\(folder)/tls.key", "-out", "\(folder)/tls.pem",
            ], log: log, limit: 30)
        let ports = "\(folder)/ports"
        process = try ChildProcess(
            [
                "\(binaries)/nightshift-gateway", "run", "--certificate", "\(folder)/tls.pem", "--key",
                "\(folder)/tls.key", "--state", "\(folder)/state", "--providers", "127.0.0.1:0", "--devices",
                "127.0.0.1:0", "--status", "127.0.0.1:0", "--public-name", "localhost",
                // These options raise the limits, because the benchmark does not measure them.
                "--request-rate", "1000000", "--silent-per-hour", "1000000",
            ], log: ports)
        let start = Instant()
        while true {
            let text = (try? String(contentsOfFile: ports, encoding: .utf8)) ?? ""
            if text.hasSuffix("\n"), let providers = Self.port("providers", text),
                let devices = Self.port("devices", text)
            {
                (self.providers, self.devices) = (providers, devices)
                break
            }
            guard start.elapsed < 20 else {
                stop()
                throw BenchError("nightshift-gateway does not start; see \(ports)")
            }
            usleep(1_000)
        }
        do {
            try prepare()
        } catch {
            stop()
            throw error
        }
    }

    var view: ProcessView { ProcessView(processID: process.processID) }

    func stop() {
        kill(process.processID, SIGTERM)
        _ = try? process.wait(limit: 20, since: Instant())
    }

    private static func port(_ name: String, _ text: String) -> Int? {
        guard let range = text.range(of: "\(name)=") else { return nil }
        return Int(text[range.upperBound...].prefix { $0.isNumber })
    }

    private func prepare() throws {
        let key = "\(folder)/provider.p8"
        try ChildProcess.require(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
            log: "\(folder)/log", limit: 30)
        _ = try administer(["team", "add", Self.team, "Bench"])
        _ = try administer(["key", "add", Self.key, key, "--team", Self.team])
        _ = try administer(["topic", "add", Self.topic, "--team", Self.team])
    }

    /// Runs a command of the gateway's command line, and returns its output.
    private func administer(_ words: [String]) throws -> String {
        let output = "\(folder)/answer"
        try? FileManager.default.removeItem(atPath: output)
        try ChildProcess.require(
            ["\(binaries)/nightshift-gateway"] + words + ["--socket", "\(folder)/state/admin.sock", "--json"],
            log: output, limit: 30)
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    /// Returns a URL with which a device can enrol.
    func enrolmentURL() throws -> String {
        let answer = try administer(["enrolment", "create", "--name", "bench"])
        let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
        guard let url = object?["url"] as? String else { throw BenchError("the gateway returned no enrolment URL") }
        return url
    }

    // MARK: - Providers

    /// Creates a provider's token: a JSON web token signed with the team's key (RFC 7515).
    func bearer() throws -> String {
        func text(_ data: Data) -> String {
            data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let head = text(Data(#"{"alg":"ES256","kid":"\#(Self.key)"}"#.utf8))
        let claims = text(Data(#"{"iss":"\#(Self.team)","iat":\#(Int(Date.now.timeIntervalSince1970))}"#.utf8))
        let (input, output) = ("\(folder)/unsigned", "\(folder)/signature")
        try "\(head).\(claims)".write(toFile: input, atomically: true, encoding: .utf8)
        try ChildProcess.require(
            ["openssl", "dgst", "-sha256", "-sign", "\(folder)/provider.p8", "-out", output, input],
            log: "\(folder)/log", limit: 30)
        // This converts the two numbers in DER to two numbers of 32 bytes.
        let der = [UInt8](try Data(contentsOf: URL(filePath: output)))
        var signature: [UInt8] = []
        var at = 2
        for _ in 0..<2 {
            guard at + 1 < der.count, at + 2 + Int(der[at + 1]) <= der.count else {
                throw BenchError("openssl's signature has an unknown format")
            }
            let number = der[(at + 2)..<(at + 2 + Int(der[at + 1]))].drop { $0 == 0 }
            signature += [UInt8](repeating: 0, count: 32 - number.count) + number
            at += 2 + Int(der[at + 1])
        }
        return "\(head).\(claims).\(text(Data(signature)))"
    }

    func url(_ token: String) -> String { "https://127.0.0.1:\(providers)/3/device/\(token)" }

    // MARK: - Devices

    /// Returns the command that simulates devices.
    func load(_ arguments: [String]) -> [String] {
        [
            "\(binaries)/gateway-load", "--port", "\(devices)", "--socket", "\(folder)/state/admin.sock", "--authority",
            authority,
        ] + arguments
    }

    /// Connects devices that stay until they are stopped, and returns their tokens.
    func connectedDevices(_ count: Int) throws -> (process: ChildProcess, tokens: [String]) {
        let file = "\(folder)/connected"
        let process = try ChildProcess(
            load(["--devices", "\(count)", "--topic", Self.topic, "--tokens", file, "--until-stopped"]),
            log: "\(folder)/devices")
        let start = Instant()
        while !FileManager.default.fileExists(atPath: file) {
            guard start.elapsed < 120, kill(process.processID, 0) == 0 else {
                kill(process.processID, SIGKILL)
                _ = try? process.wait(limit: 5, since: start)
                throw BenchError("the devices do not connect; see \(folder)/devices")
            }
            usleep(10_000)
        }
        return (process, try Self.lines(file))
    }

    /// Enrols devices, disconnects them, and returns their tokens.
    func absentDevices(_ count: Int) throws -> [String] {
        let file = "\(folder)/absent"
        try ChildProcess.require(
            load(["--devices", "\(count)", "--topic", Self.topic, "--tokens", file]), log: "\(folder)/log", limit: 300)
        return try Self.lines(file)
    }

    private static func lines(_ file: String) throws -> [String] {
        try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

/// The output of `gateway-load`.
struct DevicesReport: Decodable {
    var connection: Phase
    var memory: Memory?
    var storm: Storm?
    var deliveries: Spread?
    var lost: Int

    struct Phase: Decodable {
        var seconds: Double
        var perSecond: Double
        var failures: Int
    }

    struct Memory: Decodable {
        var perConnection: Double
    }

    struct Storm: Decodable {
        var seconds: Double
        var away: Spread
        var attempt: Spread
        var failedAttempts: Int
        var handshakesPerSecond: Int
    }

    struct Spread: Decodable {
        var count: Int
        var p50: Double
        var p99: Double
        var highest: Double
    }
}
