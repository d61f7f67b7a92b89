import CNightshift
import Glibc

/// A pipe that moves the bytes of a body from a socket to a file, without copying them to user space.
///
/// The pipe is empty between two calls, so all exchanges of a loop share one pipe.
final class BodyPipe {
    private let reading: Int32
    private let writing: Int32
    /// The maximum number of bytes moved at once.
    let capacity: Int
    private var copied: UnsafeMutableRawBufferPointer?

    /// The capacity that an unprivileged user may set at most (`/proc/sys/fs/pipe-max-size`).
    private static let wantedCapacity: Int32 = 1 << 20
    /// The number of bytes that are copied at once if the kernel cannot move the bytes.
    private static let copyBytes = 262_144

    /// Creates the pipe. Returns nil if the process has no file descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard nightshift_pipe(&ends) == 0 else { return nil }
        (reading, writing) = (ends[0], ends[1])
        // The kernel refuses this call if the user has too many pipes. The pipe then keeps its default capacity.
        let capacity = nightshift_set_pipe_capacity(writing, Self.wantedCapacity)
        self.capacity = capacity > 0 ? Int(capacity) : 65_536
    }

    deinit {
        close(reading)
        close(writing)
        copied?.deallocate()
    }

    /// Moves up to `count` bytes from the socket into the pipe. Returns the number of bytes, 0 at the end of the
    /// connection, or -1 with `errno`.
    func fill(from socket: Int32, _ count: Int) -> Int {
        while true {
            let taken = nightshift_splice(socket, writing, nil, Int64(min(count, capacity)))
            if taken >= 0 || errno != EINTR { return Int(taken) }
        }
    }

    /// Moves the `count` bytes in the pipe to `offset` of a file. Bytes that the file does not accept are dropped.
    func empty(_ count: Int, into file: Int32, at offset: Int64) -> CurlMove {
        var move = CurlMove()
        while move.bytes < count {
            var place = offset + Int64(move.bytes)
            let moved = nightshift_splice(reading, file, &place, Int64(count - move.bytes))
            if moved > 0 {
                move.bytes += Int(moved)
            } else if moved == 0 || errno != EINTR {
                move.error = moved < 0 ? errno : EIO
                break
            }
        }
        guard move.error != 0 else { return move }
        return moveByCopy(count, move, into: file, at: offset)
    }

    /// Copies bytes that the kernel cannot move, for example into a file opened for appending.
    private func moveByCopy(_ count: Int, _ move: CurlMove, into file: Int32, at offset: Int64) -> CurlMove {
        var move = move
        let isRefused = move.error == EINVAL
        if isRefused {
            move.error = 0
            move.isCopied = true
        }
        var left = count - move.bytes
        let buffer = buffer()
        while left > 0 {
            let taken = read(reading, buffer.baseAddress, min(left, buffer.count))
            if taken < 0, errno == EINTR { continue }
            precondition(taken > 0, "The pipe must contain the bytes that were put into it.")
            left -= taken
            if isRefused, move.error == 0 { move.write(buffer, taken, into: file, at: offset) }
        }
        return move
    }

    /// Copies up to `count` bytes from the socket to `offset` of a file. Returns nil and sets `errno` if the socket
    /// cannot be read. At the end of the connection, the result has 0 bytes.
    func copy(from socket: Int32, _ count: Int, into file: Int32, at offset: Int64) -> CurlMove? {
        let buffer = buffer()
        while true {
            let taken = recv(socket, buffer.baseAddress, min(count, buffer.count), Int32(MSG_DONTWAIT))
            if taken < 0, errno == EINTR { continue }
            guard taken >= 0 else { return nil }
            var move = CurlMove()
            move.isCopied = true
            move.write(buffer, taken, into: file, at: offset)
            return move
        }
    }

    private func buffer() -> UnsafeMutableRawBufferPointer {
        let buffer = copied ?? .allocate(byteCount: Self.copyBytes, alignment: 4_096)
        copied = buffer
        return buffer
    }
}

/// The result of moving some bytes of a body to a file.
package struct CurlMove: Sendable {
    /// The number of bytes that were written to the file.
    package var bytes = 0
    /// The error with which the file refused more bytes. It is 0 if the file accepted all bytes.
    package var error: Int32 = 0
    /// Whether the bytes had to be copied because the kernel could not move them.
    var isCopied = false

    fileprivate mutating func write(
        _ buffer: UnsafeMutableRawBufferPointer, _ count: Int, into file: Int32, at offset: Int64
    ) {
        var done = 0
        while done < count {
            let written = pwrite(file, buffer.baseAddress.map { $0 + done }, count - done, Int(offset) + bytes)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                error = written < 0 ? errno : EIO
                return
            }
            done += written
            bytes += written
        }
    }
}
