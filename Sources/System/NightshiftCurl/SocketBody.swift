import CNightshift
import Glibc

/// The rest of a body that libcurl has handed over. Some of its bytes wait in the connection's socket, and others have
/// not arrived yet.
///
/// It is used on the loop's thread. When it is released, it closes the connection, because libcurl no longer uses the
/// connection.
package final class CurlSocketBody {
    let socket: Int32
    private let pipe: BodyPipe
    /// The number of bytes that have not been read from the socket yet.
    package private(set) var rest: Int64
    private(set) var condition = Condition.open
    private var isMovable = true

    enum Condition: Equatable {
        case open
        /// A state in which the socket has no bytes to read now.
        case drained
        /// A state in which the peer has closed the connection before the end of the body.
        case ended
        /// A state in which the connection has failed with this `errno`.
        case failed(Int32)
    }

    /// Makes the rest of a body, and duplicates the socket's descriptor. Returns nil if no descriptors are left.
    init?(of socket: Int32, rest: Int64, through pipe: BodyPipe) {
        self.socket = nightshift_duplicate(socket)
        guard self.socket >= 0 else { return nil }
        self.rest = rest
        self.pipe = pipe
    }

    deinit {
        close(socket)
    }

    /// Moves up to `count` bytes of the body to `offset` of a file, without waiting for more bytes to arrive.
    ///
    /// Bytes that the file refuses are lost.
    package func move(to file: Int32, at offset: Int64, atMost count: Int) -> CurlMove {
        let wanted = Int(min(Int64(count), rest))
        guard wanted > 0 else { return CurlMove() }
        condition = .open
        guard isMovable else { return copy(wanted, to: file, at: offset) }
        let taken = pipe.fill(from: socket, wanted)
        if taken < 0, errno == EINVAL {
            isMovable = false
            return copy(wanted, to: file, at: offset)
        }
        guard taken > 0 else {
            stop(taken < 0 ? errno : 0)
            return CurlMove()
        }
        rest -= Int64(taken)
        let move = pipe.empty(taken, into: file, at: offset)
        if move.isCopied { isMovable = false }
        return move
    }

    private func copy(_ count: Int, to file: Int32, at offset: Int64) -> CurlMove {
        guard let move = pipe.copy(from: socket, count, into: file, at: offset) else {
            stop(errno)
            return CurlMove()
        }
        rest -= Int64(move.bytes)
        if move.bytes == 0, move.error == 0 { condition = .ended }
        return move
    }

    private func stop(_ error: Int32) {
        condition =
            switch error {
            case 0: .ended
            case EAGAIN: .drained
            default: .failed(error)
            }
    }
}
