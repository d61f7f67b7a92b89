import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An HTTP server on a Unix socket with scripted responses, one per connection.
final class ScriptedService: Sendable {
    struct Request: Sendable {
        var method: String
        /// The path with its query.
        var path: String
        var headers: [String: String]
        var body: Data
    }

    enum Reply: Sendable {
        case json(Int, Data)
        /// An event stream: its pieces, and whether the connection stays open after them.
        case events([String], staysOpen: Bool)
        /// A connection that closes without a response.
        case hangUp
    }

    /// The directory of the socket.
    private let folder: URL
    private let descriptor: Int32
    private let state = Mutex(State())
    private let handler: @Sendable (Request) -> Reply

    private struct State {
        var requests: [Request] = []
        var open: [Int32] = []
        var isStopped = false
        var connections = 0
    }

    var requests: [Request] { state.withLock { $0.requests } }
    /// The number of accepted connections, with or without a request.
    var connections: Int { state.withLock { $0.connections } }
    var socketPath: String { folder.appending(path: "nightshift.sock").path(percentEncoded: false) }

    /// Listens in `home`, as a service with this `NIGHTSHIFT_HOME` does.
    ///
    /// - Parameter folder: the directory of the socket, relative to `home`.
    init(home: URL, folder: String = "run", _ handler: @escaping @Sendable (Request) -> Reply) throws {
        self.folder = home.appending(path: folder)
        self.handler = handler
        try FileManager.default.createDirectory(
            at: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = self.folder.appending(path: "nightshift.sock").path(percentEncoded: false)
        unlink(path)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 16) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                let error = errno
                guard connection >= 0 else {
                    let isStopped = state.withLock { $0.isStopped }
                    if !isStopped, error == EINTR || error == ECONNABORTED { continue }
                    // An error here means that other code has closed a descriptor that it does not own.
                    precondition(isStopped, "accept: \(String(cString: strerror(error)))")
                    // The descriptor is closed here, so that its number cannot be reused in between.
                    close(descriptor)
                    return
                }
                state.withLock { $0.connections += 1 }
                Thread.detachNewThread { [self] in serve(connection) }
            }
        }
    }

    func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            defer { state.open = [] }
            return state.open
        }
        unlink(socketPath)
        shutdown(descriptor, Int32(SHUT_RDWR))
        for connection in open { close(connection) }
    }

    private func serve(_ connection: Int32) {
        guard let request = read(connection) else {
            close(connection)
            return
        }
        state.withLock { $0.requests.append(request) }
        switch handler(request) {
        case .hangUp:
            close(connection)
        case .json(let status, let body):
            let type = status < 300 ? "application/json" : "application/problem+json"
            send(
                connection,
                Data(
                    """
                    HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r
                    Connection: close\r\n\r\n
                    """.utf8) + body)
            close(connection)
        case .events(let pieces, let staysOpen):
            send(
                connection,
                Data("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".utf8))
            for piece in pieces { send(connection, Data(piece.utf8)) }
            let isKept = state.withLock { state in
                if staysOpen && !state.isStopped { state.open.append(connection) }
                return staysOpen && !state.isStopped
            }
            if !isKept { close(connection) }
        }
    }

    private func read(_ connection: Int32) -> Request? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        func more() -> Bool {
            let count = Glibc.read(connection, &buffer, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count > 0
        }
        var end = bytes.range(of: Data("\r\n\r\n".utf8))
        while end == nil {
            guard more() else { return nil }
            end = bytes.range(of: Data("\r\n\r\n".utf8))
        }
        guard let end else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ").map { String($0) }
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while bytes.count - end.upperBound < length { guard more() else { return nil } }
        return Request(method: words[0], path: words[1], headers: headers, body: bytes[end.upperBound...])
    }

    private func send(_ connection: Int32, _ data: Data) {
        data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    connection, bytes.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}
