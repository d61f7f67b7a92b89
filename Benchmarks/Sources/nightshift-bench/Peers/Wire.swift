import Foundation
import Glibc

/// The tests' proxy for one run: a path to a loopback server with more delay and less bandwidth than loopback.
final class Wire {
    let port: UInt16
    private let process: ChildProcess
    private let log: String

    /// - Parameter options: the options, as `misbehaving-origin help proxy` lists them.
    init(bench: Bench, to port: UInt16, _ options: [String]) throws {
        let folder = try bench.memory.empty("wire")
        log = "\(folder)/log"
        let file = "\(folder)/port"
        process = try ChildProcess(
            ["\(bench.options.binaries)/misbehaving-origin", "proxy", "--to", "\(port)", "--port-file", file] + options,
            log: log)
        let start = Instant()
        while true {
            if let text = try? String(contentsOfFile: file, encoding: .utf8), let port = UInt16(text.dropLast()) {
                self.port = port
                return
            }
            guard start.elapsed < 10 else {
                _ = try? process.wait(limit: 0, since: start)
                throw BenchError("the proxy does not listen; see \(log)")
            }
            usleep(1_000)
        }
    }

    /// Stops the proxy.
    ///
    /// - Returns: the bytes that clients sent through it.
    @discardableResult
    func stop() throws -> Int64 {
        kill(process.processID, SIGTERM)
        _ = try process.wait(limit: 10, since: Instant())
        let words = try String(contentsOfFile: log, encoding: .utf8).split(separator: " ")
        guard words.count > 2, let bytes = Int64(words[2]) else {
            throw BenchError("the proxy printed nothing; see \(log)")
        }
        return bytes
    }
}
