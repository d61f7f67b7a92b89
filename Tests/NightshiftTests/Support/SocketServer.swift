import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An HTTP server on a Unix socket. It handles one request on each connection, and answers it at once or with a stream
/// that stays open.
final class SocketServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var query: [String: String]
        /// The header fields, by their names in lower case.
        var fields: [String: String]
        var body: Data
    }

    enum Reply: Sendable {
        case json(Int, Data)
        /// A connection that closes without a response.
        case hangUp
        /// An event stream, which is passed to the closure after the response's head was sent.
        case stream(@Sendable (Stream) -> Void)
    }

    /// An open connection, on which a handler sends an event stream.
    final class Stream: Sendable {
        private let descriptor: Int32
        private let isClosed = Mutex(false)

        fileprivate init(_ descriptor: Int32) {
            self.descriptor = descriptor
        }

        /// Not called after ``close()``, because the descriptor may then be another connection.
        func send(_ text: String) {
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                bytes = bytes.dropFirst(count)
            }
        }

        /// Returns the bytes that have arrived, at least one. Returns nothing at the end of the connection.
        fileprivate func receive() -> Data {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            return Data(buffer.prefix(max(count, 0)))
        }

        /// Blocks until the other side ends the stream or ``end()`` is called.
        func waitForEnd() {
            while !receive().isEmpty {}
        }

        /// Ends the connection for both sides. Its descriptor stays open.
        func end() {
            isClosed.withLock { isClosed in
                if !isClosed { _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
            }
        }

        func close() {
            isClosed.withLock { isClosed in
                guard !isClosed else { return }
                isClosed = true
                _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
                _ = Glibc.close(descriptor)
            }
        }

        fileprivate var isOpen: Bool { isClosed.withLock { !$0 } }
    }

    private let path: String
    private let descriptor: Int32
    private let handler: @Sendable (Request) -> Reply
    /// The open connections; nil once the server is stopped.
    private let connections = Mutex<[Stream]?>([])

    init(path: String, _ handler: @escaping @Sendable (Request) -> Reply) throws {
        self.path = path
        self.handler = handler
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unlink(path)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, listen(descriptor, 64) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    // The descriptor is closed only here, so that its number is not reused by another socket while this
                    // thread uses it.
                    close(descriptor)
                    return
                }
                let stream = Stream(connection)
                guard add(stream) else {
                    stream.close()
                    continue
                }
                Thread.detachNewThread { [self] in serve(stream) }
            }
        }
    }

    /// Ends all connections, as the end of a process does.
    func stop() {
        unlink(path)
        shutdown(descriptor, Int32(SHUT_RDWR))
        let open = connections.withLock { connections in
            defer { connections = nil }
            return connections ?? []
        }
        for connection in open { connection.end() }
    }

    /// Returns whether the server still runs.
    private func add(_ connection: Stream) -> Bool {
        connections.withLock { connections in
            connections?.removeAll { !$0.isOpen }
            connections?.append(connection)
            return connections != nil
        }
    }

    private func serve(_ stream: Stream) {
        guard let request = read(stream) else { return stream.close() }
        switch handler(request) {
        case .hangUp: stream.close()
        case .json(let status, let body):
            let type = status < 300 ? "application/json" : "application/problem+json"
            stream.send(
                "HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
                    + String(decoding: body, as: UTF8.self))
            stream.close()
        case .stream(let take):
            stream.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: connected\n\n")
            take(stream)
        }
    }

    private func read(_ connection: Stream) -> Request? {
        var bytes = Data()
        func more() -> Bool {
            let piece = connection.receive()
            bytes.append(piece)
            return !piece.isEmpty
        }
        var end = bytes.range(of: Data("\r\n\r\n".utf8))
        while end == nil {
            guard more() else { return nil }
            end = bytes.range(of: Data("\r\n\r\n".utf8))
        }
        guard let end else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count == 3 else { return nil }
        let length =
            lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        while bytes.count - end.upperBound < length { guard more() else { return nil } }
        let parts = words[1].split(separator: "?", maxSplits: 1).map(String.init)
        var query: [String: String] = [:]
        for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let halves = pair.split(separator: "=", maxSplits: 1).map(String.init)
            query[halves[0]] = halves.dropFirst().first?.removingPercentEncoding ?? ""
        }
        let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }
        return Request(
            method: words[0], path: parts[0], query: query,
            fields: fields.reduce(into: [:]) { fields, field in
                fields[field[0].lowercased()] = field.dropFirst().first?.trimmingCharacters(in: .whitespaces)
            }, body: Data(bytes[end.upperBound...]))
    }
}
