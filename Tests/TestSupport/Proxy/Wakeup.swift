import Glibc

/// A signal that wakes a thread that polls ``descriptor``, as a value. Its owner must close it exactly once.
struct Wakeup: Sendable {
    /// A descriptor that is readable once ``wake()`` was called.
    let descriptor: Int32
    private let other: Int32

    init() {
        var pair: [Int32] = [-1, -1]
        // This call fails if the process has run out of descriptors. In that case no thread is ever woken.
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
        (descriptor, other) = (pair[0], pair[1])
    }

    func wake() {
        var byte: UInt8 = 0
        // A full buffer wakes the thread as well.
        _ = send(other, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// Clears the wake-ups so far.
    func clear() {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
            while recv(descriptor, buffer.baseAddress, buffer.count, 0) > 0 {}
        }
    }

    func close() {
        _ = Glibc.close(descriptor)
        _ = Glibc.close(other)
    }
}
