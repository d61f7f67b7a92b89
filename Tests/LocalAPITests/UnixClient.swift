import Foundation
import NIOPosix
import TestSupport

/// A blocking client on a Unix socket that sees every byte. Its calls run on their own threads, so that they block
/// neither the server nor other tests.
final class UnixClient: Sendable {
    let descriptor: Int32
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 32)
        pool.start()
        return pool
    }()

    struct Failure: Error, CustomStringConvertible {
        var call: String
        var code: Int32
        var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var limit = timeval(tv_sec: Int(WaitingTime.longest.components.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // deinit closes the descriptor in this case as well.
        guard connected == 0 else { throw Failure(call: "connect", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        let descriptor = descriptor
        try await Self.threads.runIfActive {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(call: "send", code: errno) }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Receives the next bytes; none at the end of the connection.
    func receive(atMost limit: Int = 65_536) async throws -> [UInt8] {
        let descriptor = descriptor
        return try await Self.threads.runIfActive {
            try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                let received = recv(descriptor, buffer.baseAddress, limit, 0)
                guard received >= 0 else { throw Failure(call: "recv", code: errno) }
                count = received
            }
        }
    }

    /// Whether the connection is open and no unread bytes have arrived.
    var isSilent: Bool {
        let (count, code) = peek()
        return count < 0 && code == EAGAIN
    }

    /// Whether the connection has ended and no unread bytes are left.
    var hasEnded: Bool {
        let (count, code) = peek()
        return count == 0 || (count < 0 && code != EAGAIN)
    }

    /// Returns the result of receiving a byte now, without removing it.
    private func peek() -> (count: Int, code: Int32) {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return (count, errno)
    }

    /// The number of unread bytes that have arrived.
    var available: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Receives everything up to `mark`, or up to the end of the connection.
    func receive(through mark: String) async throws -> String {
        var received: [UInt8] = []
        while !String(decoding: received, as: UTF8.self).contains(mark) {
            let piece = try await receive()
            if piece.isEmpty { break }
            received += piece
        }
        return String(decoding: received, as: UTF8.self)
    }

    /// Receives everything up to the end of the connection.
    func receiveAll() async throws -> [UInt8] {
        var received: [UInt8] = []
        while true {
            let piece = try await receive()
            if piece.isEmpty { return received }
            received += piece
        }
    }

    /// Receives the next response, whose length its Content-Length gives.
    func answer() async throws -> Answer {
        var received: [UInt8] = []
        while true {
            if let answer = Answer(received), answer.isWhole { return answer }
            let piece = try await receive()
            guard !piece.isEmpty else { throw Failure(call: "answer broke off", code: ECONNRESET) }
            received += piece
        }
    }

    /// Sends one request and receives its response.
    func request(
        _ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil
    ) async throws -> Answer {
        try await send(Self.head(method, target, headers: headers, body: body) + (body ?? ""))
        return try await answer()
    }

    static func head(
        _ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil
    ) -> String {
        var fields = ["Host": "localhost"]
        if let body {
            fields["Content-Type"] = "application/json"
            fields["Content-Length"] = String(body.utf8.count)
        }
        fields.merge(headers) { $1 }
        return "\(method) \(target) HTTP/1.1\r\n" + fields.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
    }
}
