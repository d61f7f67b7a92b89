import Foundation
import Synchronization

/// A server of `Tests/Peers`, in a process of its own that the test may end and start again.
package final class UploadServer: Sendable {
    package enum Kind: String, Sendable {
        /// swift-nio-extras' resumable uploads: the IETF draft, in memory.
        case resumable
        /// tus 1.0, in files.
        case tus
        /// moto's S3.
        case s3
    }

    /// Where the servers that keep uploads under their names put them.
    package let directory: TemporaryDirectory
    package let port: UInt16
    private let kind: Kind
    private let options: [String]
    private let process = Mutex<ChildProcess?>(nil)

    /// - Parameter origin: what the addresses of uploads begin with, where that is not the server itself.
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
        let log = directory.path("output")
        let program =
            kind == .resumable
            ? Self.root.appending(path: ".build-peers/swift/debug/resumable-upload-server").path
            : Self.root.appending(path: "Tests/Peers/\(kind.rawValue)/run.sh").path
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw WebServer.CannotStart(description: "\(program) is missing: Tests/Peers/build.sh builds it")
        }
        let started = try ChildProcess(program, arguments: options, output: .file(log), errors: .file(log))
        process.withLock { $0 = started }
        try await eventually("\(program) on port \(port)", within: .seconds(120)) {
            if let exit = started.exit {
                let printed = (try? fileBytes(log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
                throw WebServer.CannotStart(description: "\(program) ended with \(exit): \(printed)")
            }
            guard let connection = try? Socket.connected(to: .ipv4, port: port) else { return false }
            connection.close()
            return true
        }
    }

    /// SIGKILL, and suspends until the process is gone.
    package func kill() async throws { try await end(SIGKILL) }

    /// SIGTERM, and suspends until the process is gone.
    package func stop() async throws { try await end(SIGTERM) }

    private func end(_ signal: Int32) async throws {
        let process = process.withLock { $0 }
        process?.kill(signal)
        _ = try await process?.waitForExit()
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Where an upload of that name is when it is whole.
    package func path(_ name: String) -> String { directory.path("uploads/\(name)") }

    package func isWhole(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path("\(name).upload.json"))
    }

    /// A URL that lets its holder PUT, or GET, one object.
    package func presigned(_ verb: String, _ key: String) async throws -> String {
        let script = Self.root.appending(path: "Tests/Peers/s3/presign.sh").path
        let outcome = try await ChildProcess.run(script, ["\(port)", verb, key])
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static let root =
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
