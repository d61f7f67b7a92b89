import Glibc

/// A lock that prevents a second gateway from using the same state folder. The kernel releases the lock when the
/// process ends, even after a crash.
final class StateLock: Sendable {
    private let descriptor: Int32

    init(_ folder: String) throws {
        let path = folder + "/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw GatewayError("The folder \(folder) is not writable: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw GatewayError("Another gateway is using the folder \(folder).")
        }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
