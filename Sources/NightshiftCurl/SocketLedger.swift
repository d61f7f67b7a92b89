import CNightshift
import Glibc

/// Determines whether libcurl has delivered every byte that it has read from a connection's socket.
///
/// Only then may other code continue to read from the socket: the bytes that libcurl buffers, and the pieces that it
/// delivers, differ between its versions. The kernel knows how many bytes were read.
struct SocketLedger {
    let socket: Int32
    /// The number of bytes read for earlier responses on the same connection.
    private let takenBefore: Int64
    private var handedOn: Int64 = 0
    private var looks = 0

    /// The number of pieces of a body after which the check is abandoned. libcurl's buffer holds 32 of them.
    private static let maximumLooks = 64

    /// Must be called before the request is sent. Returns nil for a socket whose byte count the kernel does not report.
    init?(_ socket: Int32) {
        self.socket = socket
        guard let taken = Self.taken(from: socket) else { return nil }
        takenBefore = taken
    }

    mutating func handOn(_ count: Int) {
        handedOn += Int64(count)
    }

    /// Whether all bytes were delivered; nil once further checks are not worthwhile.
    mutating func isBalanced() -> Bool? {
        looks += 1
        guard looks <= Self.maximumLooks, let taken = Self.taken(from: socket) else { return nil }
        return taken - takenBefore == handedOn
    }

    /// The number of bytes read from a socket; -1 if bytes keep arriving meanwhile, nil if the kernel does not report it.
    /// Nothing else reads the socket.
    private static func taken(from socket: Int32) -> Int64? {
        var (before, after): (Int32, Int32) = (0, 0)
        // Bytes that arrive between the two calls would count as read, and so would the peer's end. So the check is
        // tried twice.
        for _ in 0..<2 {
            guard ioctl(socket, UInt(FIONREAD), &before) == 0 else { return nil }
            let received = nightshift_tcp_received(socket)
            guard received >= 0, ioctl(socket, UInt(FIONREAD), &after) == 0 else { return nil }
            if before == after { return received - Int64(after) }
        }
        return -1
    }
}
