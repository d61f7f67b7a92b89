import Foundation
import Glibc

/// A server of uploads that implements the IETF draft for resumable uploads, from swift-nio-extras.
final class UploadServer {
    let port: UInt16
    private let process: ChildProcess

    init(bench: Bench) throws {
        let folder = try bench.memory.empty("uploads")
        let output = "\(folder)/port"
        process = try ChildProcess(
            ["\(bench.options.binaries)/resumable-upload-server", "--directory", folder], log: output)
        port = try Self.port(in: output, of: process)
    }

    func stop() {
        kill(process.processID, SIGTERM)
        _ = try? process.wait(limit: 10, since: Instant())
    }

    private static func port(in file: String, of process: ChildProcess) throws -> UInt16 {
        let start = Instant()
        while true {
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            if text.hasSuffix("\n"), let port = UInt16(text.dropLast()) { return port }
            guard start.elapsed < 20 else {
                _ = try? process.wait(limit: 0, since: start)
                throw BenchError("the server of uploads does not listen; see \(file)")
            }
            usleep(1_000)
        }
    }
}
