import Foundation
import Glibc

/// A nightshiftd for this run with its own home, and its command line.
final class Service {
    let home: String
    /// The number of seconds from the start until the service answered `GET /v1/status`.
    let startTime: Double
    private let binaries: String
    private let log: String
    private let process: ChildProcess

    /// - Parameter prefix: the command under which the service runs, such as one that enters a network namespace.
    init(binaries: String, home: String, log: String, under prefix: [String] = []) throws {
        self.home = home
        self.binaries = binaries
        self.log = log
        let start = Instant()
        process = try ChildProcess(
            prefix + ["\(binaries)/nightshiftd"], environment: ["NIGHTSHIFT_HOME": home], log: log)
        while true {
            if let client = try? UnixClient(path: Self.socket(home)),
                let response = try? client.request("GET", "/v1/status"), response.status == 200
            {
                break
            }
            guard start.elapsed < 60, kill(process.processID, 0) == 0 else {
                kill(process.processID, SIGKILL)
                _ = try? process.wait(limit: 5, since: start)
                throw BenchError("nightshiftd does not answer; see \(log)")
            }
            usleep(1_000)
        }
        startTime = start.elapsed
    }

    var view: ProcessView { ProcessView(processID: process.processID) }

    func client() throws -> UnixClient { try UnixClient(path: Self.socket(home)) }

    /// Asks the service to exit, and waits for its end.
    func stop() {
        kill(process.processID, SIGTERM)
        _ = try? process.wait(limit: 15, since: Instant())
    }

    /// Runs the command line to its end. The cost includes that of the service.
    func run(_ arguments: [String], limit: Double) throws -> Cost {
        view.forgetPeak()
        let before = try view.cpu()
        let usage = try ChildProcess.run(
            ["\(binaries)/nightshift"] + arguments, environment: ["NIGHTSHIFT_HOME": home], log: log, limit: limit)
        guard usage.exitStatus == 0 else { throw BenchError("nightshift ended with \(usage.exitStatus); see \(log)") }
        return Cost(
            wall: usage.wall, cpu: usage.cpu + (try view.cpu()) - before,
            memory: usage.peakMemory + (try view.peakMemory()))
    }

    /// Runs a short command of the command line.
    func ask(_ arguments: [String]) throws {
        let usage = try ChildProcess.run(
            ["\(binaries)/nightshift"] + arguments, environment: ["NIGHTSHIFT_HOME": home], log: log, limit: 30)
        guard usage.exitStatus == 0 else {
            throw BenchError("nightshift \(arguments.first ?? "") ended with \(usage.exitStatus); see \(log)")
        }
    }

    /// Returns the output of a short command.
    func answer(_ arguments: [String]) throws -> String {
        let output = "\(home)/answer"
        try? FileManager.default.removeItem(atPath: output)
        try ChildProcess.require(
            ["\(binaries)/nightshift"] + arguments, environment: ["NIGHTSHIFT_HOME": home], log: output, limit: 30)
        return try String(contentsOfFile: output, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// - Parameter connections: the number of connections; nil lets the service decide.
    func download(_ job: Job, connections: Int? = nil, limit: Double) throws -> Cost {
        try run(
            ["get", "-o", job.file] + (job.authority.map { ["--cacert", $0] } ?? [])
                + (connections.map { ["--connections", "\($0)"] } ?? []) + [job.url], limit: limit)
    }

    /// Returns whether the command line has an option for the number of connections.
    func takesConnections() throws -> Bool {
        let file = "\(home)/help"
        _ = try ChildProcess.run(["\(binaries)/nightshift", "help", "get"], log: file, limit: 30)
        return try String(contentsOfFile: file, encoding: .utf8).contains("--connections")
    }

    private static func socket(_ home: String) -> String { "\(home)/run/nightshift.sock" }
}

/// A file to fetch.
struct Job {
    var url: String
    var directory: String
    var filename: String
    /// The PEM file of the trusted authority, for https.
    var authority: String?

    var file: String { "\(directory)/\(filename)" }
}

/// The cost of a fetch.
struct Cost {
    var wall: Double
    /// The user and system time in seconds.
    var cpu: Double
    /// The peak of the resident memory in bytes.
    var memory: Int64
    /// The bytes sent, if they are measured.
    var sent: Int64 = 0
}
