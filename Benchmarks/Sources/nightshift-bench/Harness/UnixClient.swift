import Foundation
import Glibc

/// A blocking HTTP/1.1 client on one persistent connection over a Unix socket, with the least possible overhead.
final class UnixClient {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    struct Response {
        var status: Int
        var body: [UInt8]

        func json() throws -> [String: Any] {
            guard let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else {
                throw BenchError("the response is not a JSON object")
            }
            return object
        }
    }

    /// Connects, or throws at once if no process listens.
    init(path: String, timeout: Int = 60) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw BenchError("the socket's path is too long: \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else {
            let error = errno
            close(descriptor)
            throw BenchError("cannot connect to \(path): \(String(cString: strerror(error)))")
        }
    }

    deinit {
        close(descriptor)
    }

    func request(_ method: String, _ target: String, body: [UInt8]? = nil) throws -> Response {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n" }
        try send(Array((head + "\r\n").utf8) + (body ?? []))
        return try receive()
    }

    /// Calls ``request(_:_:body:)``, and throws unless the status reports success.
    func require(_ method: String, _ target: String, body: String? = nil) throws -> Response {
        let response = try request(method, target, body: body.map { Array($0.utf8) })
        guard (200...299).contains(response.status) else {
            throw BenchError(
                "\(method) \(target): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        return response
    }

    private func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BenchError("the service does not read: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    private func receive() throws -> Response {
        let end = Array("\r\n\r\n".utf8)
        let head = String(decoding: try take(upTo: end), as: UTF8.self).split(separator: "\r\n")
        guard let status = head.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw BenchError("no status line")
        }
        var fields: [String: String] = [:]
        for line in head.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        if fields["transfer-encoding"]?.lowercased() == "chunked" {
            return Response(status: status, body: try chunks())
        }
        return Response(status: status, body: try take(fields["content-length"].flatMap { Int($0) } ?? 0))
    }

    private func chunks() throws -> [UInt8] {
        let lineEnd = Array("\r\n".utf8)
        var body: [UInt8] = []
        while true {
            let line = try take(upTo: lineEnd)
            guard let size = Int(String(decoding: line, as: UTF8.self), radix: 16) else { throw BenchError("no chunk") }
            body += try take(size)
            _ = try take(lineEnd.count)
            if size == 0 { return body }
        }
    }

    /// Returns the bytes before `mark`, and drops the mark.
    private func take(upTo mark: [UInt8]) throws -> [UInt8] {
        while true {
            if let index = firstIndex(of: mark) {
                let bytes = try take(index)
                _ = try take(mark.count)
                return bytes
            }
            try fill()
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try fill() }
        let bytes = Array(buffer[..<count])
        buffer.removeFirst(count)
        return bytes
    }

    private func firstIndex(of pattern: [UInt8]) -> Int? {
        guard buffer.count >= pattern.count else { return nil }
        return (0...(buffer.count - pattern.count)).first { start in
            buffer[start] == pattern[0] && buffer[start..<(start + pattern.count)].elementsEqual(pattern)
        }
    }

    private func fill() throws {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else {
            throw BenchError(
                count == 0 ? "the service closed the connection" : "no answer: \(String(cString: strerror(errno)))")
        }
        buffer += piece[..<count]
    }
}
