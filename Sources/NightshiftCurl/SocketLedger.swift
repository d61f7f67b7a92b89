import CNightshift
import Glibc

/// Whether libcurl has handed on every byte that it has taken from a connection's socket.
///
/// Only then may somebody else go on reading there: what libcurl keeps in its buffers, and how it cuts what it hands on,
/// differs between its versions. The kernel knows how much was taken.
struct SocketLedger {
    let socket: Int32
    /// Taken for earlier responses on the same connection.
    private let takenBefore: Int64
    private var handedOn: Int64 = 0
    private var looks = 0

    /// Pieces of a body after which it is given up; libcurl's buffer has 32 of them.
    private static let maximumLooks = 64

    /// To be called before the request is sent; nil for a socket of which the kernel does not tell.
    init?(_ socket: Int32) {
        self.socket = socket
        guard let taken = Self.taken(from: socket) else { return nil }
        takenBefore = taken
    }

    mutating func handOn(_ count: Int) {
        handedOn += Int64(count)
    }

    /// Nil once it is not worth asking any more.
    mutating func isBalanced() -> Bool? {
        looks += 1
        guard looks <= Self.maximumLooks, let taken = Self.taken(from: socket) else { return nil }
        return taken - takenBefore == handedOn
    }

    /// Bytes that were read from a socket, as far as nothing comes in while we look; nothing else reads it.
    private static func taken(from socket: Int32) -> Int64? {
        var (before, after): (Int32, Int32) = (0, 0)
        // What comes in between would be counted as taken, or the peer's end as a byte: once more, then not balanced.
        for _ in 0..<2 {
            guard ioctl(socket, UInt(FIONREAD), &before) == 0 else { return nil }
            let received = nightshift_tcp_received(socket)
            guard received >= 0, ioctl(socket, UInt(FIONREAD), &after) == 0 else { return nil }
            if before == after { return received - Int64(after) }
        }
        return -1
    }
}
