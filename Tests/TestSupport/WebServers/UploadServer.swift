import Foundation
import Synchronization

/// A server of `Tests/Peers` or `Tests/ResumableUploadServer`, in a separate process that the test may end and restart.
package final class UploadServer: Sendable {
    package enum Kind: String, Sendable {
        /// The server with the resumable uploads of swift-nio-extras: the IETF draft, in memory.
        case resumable
        /// A tus 1.0 server that stores uploads in files.
        case tus
        /// The S3 server of moto.
        case s3
    }

    /// The directory in which servers store uploads under their names.
    package let directory: TemporaryDirectory
    package let port: UInt16
    private let kind: Kind
    private let options: [String]
    private let process = Mutex<ChildProcess?>(nil)

    /// - Parameter origin: the start of the uploads' URLs, if it is not that of the server itself.
    package init(_ kind: Kind, port: UInt16? = nil, origin: String? = nil) async throws {
        self.kind = kind
        directory = try TemporaryDirectory()
        self.port = try port ?? freePort()
        var options = ["--port", "\(self.port)", "--seconds", "1800"]
        if kind != .s3 { options += ["--directory", directory.path("uploads")] }
        if let origin { options += ["--origin", origin] }
        self.options = options
        try await start()
    }

    deinit {
        process.withLock { $0?.kill(SIGKILL) }
    }

    package func start() async throws {
        let (output, errors) = (directory.path("output"), directory.path("errors"))
        let program =
            kind == .resumable
            ? Programs.resumableUploadServer : "\(Programs.source)/Tests/Peers/\(kind.rawValue)/run.sh"
        // This removes the output of the previous process.
        try? FileManager.default.removeItem(atPath: output)
        let started = try ChildProcess(program, arguments: options, output: .file(output), errors: .file(errors))
        process.withLock { $0 = started }
        func text(_ path: String) -> String {
            (try? fileBytes(path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        // The server prints its port once it is ready for all requests.
        try await eventually("\(program) on port \(port)", within: .seconds(120)) {
            if let exit = started.exit {
                throw WebServer.CannotStart(description: "\(program) ended with \(exit): \(text(errors))")
            }
            return text(output).split(separator: "\n").contains("\(port)")
        }
    }

    /// Sends SIGKILL, and suspends until the process is gone.
    package func kill() async throws { try await end(SIGKILL) }

    /// Sends SIGTERM, and suspends until the process is gone.
    package func stop() async throws { try await end(SIGTERM) }

    private func end(_ signal: Int32) async throws {
        let process = process.withLock { $0 }
        process?.kill(signal)
        _ = try await process?.waitForExit()
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Returns the path of an upload of that name once it is complete.
    package func path(_ name: String) -> String { directory.path("uploads/\(name)") }

    package func isWhole(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path("\(name).upload.json"))
    }

    /// Returns a URL that allows its holder to PUT, or GET, one object.
    package func presigned(_ verb: String, _ key: String) async throws -> String {
        let outcome = try await ChildProcess.run(
            "\(Programs.source)/Tests/Peers/s3/presign.sh", ["\(port)", verb, key])
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
