import Foundation
import Glibc

/// A nightshiftd of this run's own, in a home of its own, and its command line.
final class Service {
    let home: String
    /// Seconds from being started until it answered `GET /v1/status`.
    let startTime: Double
    private let binaries: String
    private let log: String
    private let process: ChildProcess

    init(binaries: String, home: String, log: String) throws {
        self.home = home
        self.binaries = binaries
        self.log = log
        let start = Instant()
        process = try ChildProcess(["\(binaries)/nightshiftd"], environment: ["NIGHTSHIFT_HOME": home], log: log)
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

    /// Asks it to leave, and waits.
    func stop() {
        kill(process.processID, SIGTERM)
        _ = try? process.wait(limit: 15, since: Instant())
    }

    /// Runs the command line to its end; the cost is both processes' together.
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

    /// Asks the command line something that takes no time.
    func ask(_ arguments: [String]) throws {
        let usage = try ChildProcess.run(
            ["\(binaries)/nightshift"] + arguments, environment: ["NIGHTSHIFT_HOME": home], log: log, limit: 30)
        guard usage.exitStatus == 0 else {
            throw BenchError("nightshift \(arguments.first ?? "") ended with \(usage.exitStatus); see \(log)")
        }
    }

    /// What the command line prints for a question that takes no time.
    func answer(_ arguments: [String]) throws -> String {
        let output = "\(home)/answer"
        try? FileManager.default.removeItem(atPath: output)
        try ChildProcess.require(
            ["\(binaries)/nightshift"] + arguments, environment: ["NIGHTSHIFT_HOME": home], log: output, limit: 30)
        return try String(contentsOfFile: output, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// - Parameter connections: how many it is to use; by default it finds out itself.
    func download(_ job: Job, connections: Int? = nil, limit: Double) throws -> Cost {
        try run(
            ["get", "-o", job.file] + (job.authority.map { ["--cacert", $0] } ?? [])
                + (connections.map { ["--connections", "\($0)"] } ?? []) + [job.url], limit: limit)
    }

    /// Whether the command line can be told how many connections to use.
    func takesConnections() throws -> Bool {
        let file = "\(home)/help"
        _ = try ChildProcess.run(["\(binaries)/nightshift", "help", "get"], log: file, limit: 30)
        return try String(contentsOfFile: file, encoding: .utf8).contains("--connections")
    }

    private static func socket(_ home: String) -> String { "\(home)/run/nightshift.sock" }
}

/// One file to fetch.
struct Job {
    var url: String
    var directory: String
    var filename: String
    /// A PEM file to trust, for https.
    var authority: String?

    var file: String { "\(directory)/\(filename)" }
}

/// What fetching has cost.
struct Cost {
    var wall: Double
    /// User and system seconds.
    var cpu: Double
    /// Peak resident bytes.
    var memory: Int64
    /// Bytes that were sent, where that is what is measured.
    var sent: Int64 = 0
}
