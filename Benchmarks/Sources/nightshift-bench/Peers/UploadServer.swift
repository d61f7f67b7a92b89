import Foundation
import Glibc

/// A server that takes uploads: one that knows the IETF draft for resumable ones where `Tests/Peers/build.sh` has built it, else
/// nginx, which keeps whole files only.
final class UploadServer {
    let port: UInt16
    /// Of the place for a file.
    let path: String
    let name: String
    private let process: ChildProcess?

    private static let resumable = ".build-peers/swift/debug/resumable-upload-server"

    init(bench: Bench) throws {
        guard FileManager.default.isExecutableFile(atPath: Self.resumable) else {
            name = "nginx, which knows no resumable uploads"
            port = bench.origin.plainPort
            path = "/uploads/upload.bin"
            process = nil
            return
        }
        name = "a server of resumable uploads (swift-nio-extras)"
        path = "/upload.bin"
        let folder = try bench.memory.empty("uploads")
        let output = "\(folder)/port"
        let process = try ChildProcess([Self.resumable, "--directory", folder], log: output)
        self.process = process
        port = try Self.port(in: output, of: process)
    }

    func stop() {
        guard let process else { return }
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
