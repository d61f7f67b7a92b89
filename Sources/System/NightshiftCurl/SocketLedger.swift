import CNightshift
import Glibc

/// A check of whether libcurl has delivered every byte that it has read from a connection's socket.
///
/// Other code may continue to read from the socket only if this is the case. The check is needed because libcurl's
/// buffers, and the pieces that it delivers, differ between its versions. The kernel knows how many bytes were read.
struct SocketLedger {
    let socket: Int32
    /// The number of bytes that were read for earlier responses on the same connection.
    private let takenBefore: Int64
    private var handedOn: Int64 = 0
    private var looks = 0

    /// The number of pieces of a body after which the check is abandoned. libcurl's buffer holds 32 pieces.
    private static let maximumLooks = 64

    /// Makes the check for a socket, before the request is sent. Returns nil if the kernel does not report the socket's
    /// byte count.
    init?(_ socket: Int32) {
        self.socket = socket
        guard let taken = Self.taken(from: socket) else { return nil }
        takenBefore = taken
    }

    mutating func handOn(_ count: Int) {
        handedOn += Int64(count)
    }

    /// Returns whether all bytes were delivered, or nil if further checks are not worthwhile.
    mutating func isBalanced() -> Bool? {
        looks += 1
        guard looks <= Self.maximumLooks, let taken = Self.taken(from: socket) else { return nil }
        return taken - takenBefore == handedOn
    }

    /// Returns the number of bytes read from a socket. The result is -1 if bytes keep arriving meanwhile, and nil if
    /// the kernel does not report the number. No other code may read the socket during this call.
    private static func taken(from socket: Int32) -> Int64? {
        var (before, after): (Int32, Int32) = (0, 0)
        // Bytes that arrive between the two calls would count as read. The end of the stream that the peer sends would
        // count too. The check is therefore tried twice.
        for _ in 0..<2 {
            guard ioctl(socket, UInt(FIONREAD), &before) == 0 else { return nil }
            let received = nightshift_tcp_received(socket)
            guard received >= 0, ioctl(socket, UInt(FIONREAD), &after) == 0 else { return nil }
            if before == after { return received - Int64(after) }
        }
        return -1
    }
}
