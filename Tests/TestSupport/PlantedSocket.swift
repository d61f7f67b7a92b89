import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A process of another user that listens on the socket path of a service, and logs the data that it receives. It needs
/// root.
package final class PlantedSocket: Sendable {
    /// The user ID of `nobody`, which every system has.
    package static let user: UInt32 = 65_534

    private let process: ChildProcess
    private let log: String

    /// Starts the process. Returns once it listens at `path`. The other user needs access to the directory.
    package init(_ path: String, log: String) async throws {
        self.log = log
        let script = """
            import os, socket, sys
            server = socket.socket(socket.AF_UNIX)
            server.bind(sys.argv[1])
            os.chmod(sys.argv[1], 0o777)
            server.listen(16)
            print("listening", flush=True)
            while True:
                connection, _ = server.accept()
                connection.settimeout(20)
                received = b""
                try:
                    while True:
                        piece = connection.recv(65536)
                        if not piece: break
                        received += piece
                        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
                except OSError:
                    pass
                print(len(received), flush=True)
            """
        process = try ChildProcess(
            "setpriv",
            arguments: [
                "--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups", "/usr/bin/python3", "-c", script,
                path,
            ], output: .file(log), errors: .file(log))
        try await eventually("a listener at \(path): \(lines)") { lines.contains("listening") }
    }

    deinit {
        process.kill(SIGKILL)
    }

    /// The number of bytes received over each connection that has ended.
    package var received: [Int] { lines.compactMap { Int($0) } }

    private var lines: [String] {
        ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n").map { String($0) }
    }
}
