import Foundation
import Glibc
import TestSupport

/// A client and a server in network namespaces of their own, with a slow line and a queue between them.
///
/// The queue is in a third namespace: the kernel would notice a slow line of the sender itself, and would not fill its
/// queue. The namespaces are removed with this object.
final class NarrowLine: Sendable {
    static let serverAddress = "198.18.0.2"
    private let names: [String]

    /// Command prefixes for programs of the client and of the server.
    ///
    /// `ip netns exec` would also copy all mounts into a mount namespace. While such a copy exists, a file system that
    /// another test unmounts stays in use, and its next mount is the same file system, even after a power cut.
    var client: [String] { ["nsenter", "--net=/run/netns/\(names[0])"] }
    var server: [String] { ["nsenter", "--net=/run/netns/\(names[1])"] }

    /// Whether namespaces and slow lines can be made here.
    static let isPossible =
        Machine.isRoot && Programs.has("ip") && Programs.has("tc") && (try? NarrowLine.check()) == true

    /// - Parameters:
    ///   - rate: the rate of the line in each direction, in the form of `tc`, such as `20mbit`.
    ///   - queue: the size of each queue in milliseconds.
    ///   - hasTimestamps: whether the client asks for TCP timestamps.
    init(rate: String, queue: Int, hasTimestamps: Bool = true) async throws {
        names = ["c", "s", "q"].map { "nightshift-\(getpid())-\(UInt32.random(in: 0...9_999))\($0)" }
        let (client, server, line) = (names[0], names[1], names[2])
        for name in names { try await Self.run("ip netns add \(name)") }
        for name in names { try await Self.run("ip -n \(name) link set lo up") }
        try await Self.run("ip link add up0 netns \(client) type veth peer name down0 netns \(line)")
        try await Self.run("ip link add up1 netns \(server) type veth peer name down1 netns \(line)")
        try await Self.run("ip -n \(client) addr add 198.18.0.1/24 dev up0")
        try await Self.run("ip -n \(server) addr add \(Self.serverAddress)/24 dev up1")
        try await Self.run("ip -n \(client) link set up0 up")
        try await Self.run("ip -n \(server) link set up1 up")
        if !hasTimestamps { try await Self.run(self.client + ["sysctl", "-qw", "net.ipv4.tcp_timestamps=0"]) }
        // The service uses a network only if it has a default route.
        try await Self.run("ip -n \(client) route add default via \(Self.serverAddress)")
        try await Self.run("ip -n \(line) link add bridge0 type bridge")
        try await Self.run("ip -n \(line) link set bridge0 up")
        for end in ["down0", "down1"] {
            try await Self.run("ip -n \(line) link set \(end) master bridge0")
            try await Self.run("ip -n \(line) link set \(end) up")
        }
        for end in ["down0", "down1"] {
            try await Self.run(
                "tc -n \(line) qdisc add dev \(end) root tbf rate \(rate) burst 32kbit latency \(queue)ms")
        }
    }

    deinit {
        for name in names {
            _ = try? ChildProcess("ip", arguments: ["netns", "del", name]).blockUntilExit(within: .seconds(10))
        }
    }

    private static func run(_ words: String) async throws {
        try await run(words.split(separator: " ").map(String.init))
    }

    private static func run(_ parts: [String]) async throws {
        let outcome = try await ChildProcess.run(parts[0], Array(parts.dropFirst()))
        guard outcome.code == 0 else {
            throw NotPossibleHere(description: "\(parts.joined(separator: " ")): \(outcome.errors)")
        }
    }

    private static func check() throws -> Bool {
        let name = "nightshift-check-\(getpid())"
        let made = try ChildProcess("ip", arguments: ["netns", "add", name]).blockUntilExit(within: .seconds(10))
        _ = try ChildProcess("ip", arguments: ["netns", "del", name]).blockUntilExit(within: .seconds(10))
        return made == .code(0)
    }
}
