import Glibc
import Synchronization

/// A real web server. It runs in the foreground on a free loopback port, from its own directory.
///
/// It ends with ``stop()``, with this object, with this process, or after ten minutes.
package final class WebServer: Sendable {
    package let port: UInt16
    /// The folder of the served files.
    package let documents: String
    /// The certificates that the server was started with, if it uses TLS.
    package let certificates: TestCertificates?
    /// The path of the folder for uploads, below ``documents``.
    package static let uploadPath = "/upload/"

    private let directory: TemporaryDirectory
    private let process: ChildProcess
    private let publications = Atomic(0)

    /// The error of a server that could not be started.
    package struct CannotStart: Error, CustomStringConvertible {
        package let description: String
    }

    /// A server's configuration in its directory.
    struct Layout {
        let directory: TemporaryDirectory
        let port: UInt16
        var documents: String { directory.path("documents") }
    }

    init(
        program: String, package: String, certificates: TestCertificates? = nil,
        configure: (Layout) async throws -> [String]
    ) async throws {
        guard access(program, X_OK) == 0 else {
            throw CannotStart(description: "\(program) is missing: install Debian's package \(package)")
        }
        directory = try TemporaryDirectory()
        port = try freePort()
        self.certificates = certificates
        let layout = Layout(directory: directory, port: port)
        documents = layout.documents
        // The server's workers may belong to another user.
        chmod(directory.path, 0o755)
        for path in [documents, "\(documents)\(Self.uploadPath)"] {
            guard mkdir(path, 0o777) == 0, chmod(path, 0o777) == 0 else { throw SystemError("mkdir \(path)") }
        }
        let arguments = try await configure(layout)
        let log = directory.path("output")
        process = try ChildProcess(
            "timeout", arguments: ["--kill-after=5", "1800", program] + arguments, output: .file(log),
            errors: .file(log)
        )
        try await eventually("\(program) on port \(port)") {
            if let exit = process.exit {
                let printed = (try? fileBytes(log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
                throw CannotStart(description: "\(program) ended with \(exit): \(printed)")
            }
            guard let connection = try? Socket.connected(to: .ipv4, port: port) else { return false }
            connection.close()
            return true
        }
    }

    deinit {
        stop()
    }

    package func stop() {
        process.stop()
    }

    /// Returns the URL of a path. Its host is `localhost` rather than an address, because certificates are for names.
    package func url(_ path: String = "/") -> String {
        "\(certificates == nil ? "http" : "https")://localhost:\(port)\(path)"
    }

    /// Writes a file that the server serves, and replaces an existing one.
    ///
    /// The modification dates are in the past and a minute apart. Entity tags that are derived from them are therefore
    /// strong (Apache's are weak for two seconds), and differ if the contents differ.
    package func publish(_ name: String, _ content: Content) throws {
        let path = "\(documents)/\(name)"
        let descriptor = open("\(path).new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < content.size {
            let count = min(buffer.count, Int(clamping: content.size - offset))
            content.fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), from: offset)
            guard write(descriptor, buffer.baseAddress, count) == count else { throw SystemError("write \(path)") }
            offset += Int64(count)
        }
        let published = publications.wrappingAdd(1, ordering: .relaxed).newValue
        let date = timespec(tv_sec: Resource.defaultLastModified + 60 * published, tv_nsec: 0)
        guard futimens(descriptor, [date, date]) == 0 else { throw SystemError("futimens \(path)") }
        guard rename("\(path).new", path) == 0 else { throw SystemError("rename \(path)") }
    }
}
