import Foundation
import Glibc

/// A server and a client in network namespaces of their own, with a slow line and its queue between them.
///
/// `scripts/narrow-line.sh` makes the namespaces, and removes them in ``remove()`` or when this process ends.
final class NarrowLine {
    static let address = "198.18.0.2"
    /// The rate of the line in bit/s.
    let rate: Double
    private let name: String
    private let log: String
    private let script: ChildProcess
    private var server: ChildProcess?

    /// The command prefix for programs of the client.
    var client: [String] { inside("c") }

    /// - Parameters:
    ///   - queue: the size of the queue in milliseconds.
    ///   - delay: the round trip on an empty line in milliseconds.
    ///   - control: the congestion control of the server.
    init(megabits: Double, queue: Int, delay: Int, control: String, in workspace: Workspace) throws {
        guard geteuid() == 0 else { throw BenchError("the part yield makes network namespaces, so it needs root") }
        rate = megabits * 1e6
        name = "nightshift-bench-\(getpid())"
        log = workspace.log
        let output = "\(workspace.path)/line"
        try? FileManager.default.removeItem(atPath: output)
        script = try ChildProcess(
            [
                "scripts/narrow-line.sh", name, "\(megabits)mbit", "\(queue)", "control=\(control)", "delay=\(delay)",
            ], log: output)
        let start = Instant()
        while true {
            let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            if text.hasSuffix("ready\n") { break }
            guard start.elapsed < 10 else {
                remove()
                throw BenchError("the narrow line cannot be made: \(text)")
            }
            usleep(50_000)
        }
    }

    /// Starts nginx, which serves the files of a folder on port 8080.
    func serve(_ folder: String) throws {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder)/.\($0);"
        }
        let configuration = """
            daemon off; worker_processes 1; user root; pid \(folder)/.pid; error_log \(log);
            events { worker_connections 64; }
            http { access_log off; sendfile on; \(temporary.joined(separator: " "))
                server { listen \(Self.address):8080; root \(folder); } }
            """
        try configuration.write(toFile: "\(folder)/.nginx.conf", atomically: false, encoding: .utf8)
        server = try ChildProcess(
            inside("s") + ["/usr/sbin/nginx", "-c", "\(folder)/.nginx.conf", "-e", log], log: log)
    }

    /// The state of the line's queue.
    struct Queue {
        /// The bytes that have left it since the start.
        var sent: Int64
        /// The time in seconds that a packet waits if it enters the queue now.
        var delay: Double
    }

    func queue(in workspace: Workspace) throws -> Queue {
        let output = "\(workspace.path)/queue"
        try? FileManager.default.removeItem(atPath: output)
        try ChildProcess.require(
            ["tc", "-n", "\(name)q", "-s", "qdisc", "show", "dev", "down0"], log: output, limit: 10)
        let words = try String(contentsOfFile: output, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        guard let sent = words.firstIndex(of: "Sent"), let backlog = words.firstIndex(of: "backlog"),
            words.indices.contains(backlog + 1), let bytes = Int64(words[sent + 1])
        else { throw BenchError("tc does not show the queue; see \(output)") }
        // tc abbreviates, such as 121Kb.
        let text = words[backlog + 1]
        let factor = text.hasSuffix("Mb") ? 1e6 : text.hasSuffix("Kb") ? 1e3 : 1
        let waiting = (Double(text.prefix { $0.isNumber || $0 == "." }) ?? 0) * factor
        return Queue(sent: bytes, delay: waiting * 8 / rate)
    }

    /// Ends the server, and removes the namespaces.
    func remove() {
        for process in [server, script].compactMap(\.self) {
            kill(process.processID, SIGTERM)
            _ = try? process.wait(limit: 5, since: Instant())
        }
    }

    private func inside(_ suffix: String) -> [String] { ["nsenter", "--net=/run/netns/\(name)\(suffix)"] }
}
