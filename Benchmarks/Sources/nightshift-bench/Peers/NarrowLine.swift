import Foundation
import Glibc

/// A server and a client in network namespaces of their own, with a slow line and its queue between them.
///
/// The queue is in a third namespace: the kernel would notice a slow line of the sender itself, and would not fill its
/// queue. The namespaces are removed by ``remove()``.
final class NarrowLine {
    static let address = "198.18.0.2"
    /// The rate of the line in bit/s.
    let rate: Double
    private let names: [String]
    private let log: String
    private var server: ChildProcess?

    /// The command prefix for programs of the client.
    var client: [String] { Self.inside(names[0]) }

    /// - Parameters:
    ///   - queue: the size of the queue in milliseconds.
    ///   - control: the congestion control of the server.
    init(megabits: Double, queue: Int, control: String, log: String) throws {
        guard geteuid() == 0 else { throw BenchError("the part yield makes network namespaces, so it needs root") }
        rate = megabits * 1e6
        names = ["c", "s", "q"].map { "nightshift-bench-\(getpid())\($0)" }
        self.log = log
        let (client, server, line) = (names[0], names[1], names[2])
        do {
            for name in names {
                try run("ip netns add \(name)")
                try run("ip -n \(name) link set lo up")
            }
            try run("ip link add up0 netns \(client) type veth peer name down0 netns \(line)")
            try run("ip link add up1 netns \(server) type veth peer name down1 netns \(line)")
            try run("ip -n \(client) addr add 198.18.0.1/24 dev up0")
            try run("ip -n \(server) addr add \(Self.address)/24 dev up1")
            try run("ip -n \(client) link set up0 up")
            try run("ip -n \(server) link set up1 up")
            try run("ip -n \(client) route add default via \(Self.address)")
            try run("ip -n \(server) route change 198.18.0.0/24 dev up1 congctl \(control)")
            try run("ip -n \(line) link add bridge0 type bridge")
            try run("ip -n \(line) link set bridge0 up")
            for end in ["down0", "down1"] {
                try run("ip -n \(line) link set \(end) master bridge0")
                try run("ip -n \(line) link set \(end) up")
            }
            try run("tc -n \(line) qdisc add dev down0 root tbf rate \(megabits)mbit burst 32kbit latency \(queue)ms")
        } catch {
            remove()
            throw error
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
            Self.inside(names[1]) + ["/usr/sbin/nginx", "-c", "\(folder)/.nginx.conf", "-e", log], log: log)
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
        try ChildProcess.require(["tc", "-n", names[2], "-s", "qdisc", "show", "dev", "down0"], log: output, limit: 10)
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
        if let server {
            kill(server.processID, SIGTERM)
            _ = try? server.wait(limit: 5, since: Instant())
        }
        for name in names { _ = try? ChildProcess.run(["ip", "netns", "del", name], log: log, limit: 10) }
    }

    /// `ip netns exec` would also copy all mounts, and keep file systems in use that others unmount.
    private static func inside(_ name: String) -> [String] { ["nsenter", "--net=/run/netns/\(name)"] }

    private func run(_ words: String) throws {
        try ChildProcess.require(words.split(separator: " ").map(String.init), log: log, limit: 10)
    }
}
