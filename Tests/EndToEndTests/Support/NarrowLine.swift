import Foundation
import Glibc
import TestSupport

/// A client and a server in network namespaces of their own, with a slow line and a queue between them.
///
/// `scripts/narrow-line.sh` makes them, and removes them when this object is deallocated or this process ends.
final class NarrowLine: Sendable {
    static let serverAddress = "198.18.0.2"
    private let name: String
    private let script: ChildProcess

    /// Command prefixes for programs of the client and of the server.
    var client: [String] { ["nsenter", "--net=/run/netns/\(name)c"] }
    var server: [String] { ["nsenter", "--net=/run/netns/\(name)s"] }

    /// Whether namespaces and slow lines can be made here.
    static let isPossible =
        Machine.isRoot && Programs.has("ip") && Programs.has("tc") && (try? NarrowLine.check()) == true

    /// - Parameters:
    ///   - rate: the rate of the line in each direction, in the form of `tc`, such as `20mbit`.
    ///   - queue: the size of each queue in milliseconds.
    ///   - hasTimestamps: whether the client asks for TCP timestamps.
    init(rate: String, queue: Int, hasTimestamps: Bool = true) async throws {
        let name = "nightshift-\(getpid())-\(UInt32.random(in: 0...9_999))"
        let output = try TemporaryDirectory()
        let script = try ChildProcess(
            "\(Programs.source)/scripts/narrow-line.sh",
            arguments: [name, rate, "\(queue)", "timestamps=\(hasTimestamps ? 1 : 0)"],
            output: .file(output.path("out")), errors: .file(output.path("out")))
        (self.name, self.script) = (name, script)
        try await eventually("the line") {
            let text = String(decoding: (try? fileBytes(output.path("out"))) ?? [], as: UTF8.self)
            guard script.exit == nil else { throw NotPossibleHere(description: text) }
            return text.hasSuffix("ready\n")
        }
    }

    deinit {
        script.stop()
    }

    private static func check() throws -> Bool {
        let name = "nightshift-check-\(getpid())"
        let made = try ChildProcess("ip", arguments: ["netns", "add", name]).blockUntilExit(within: .seconds(10))
        _ = try ChildProcess("ip", arguments: ["netns", "del", name]).blockUntilExit(within: .seconds(10))
        return made == .code(0)
    }
}
