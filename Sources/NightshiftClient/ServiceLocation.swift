import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The place of the service's socket: where the living service says that it listens, else where one would.
///
/// A service that was started without `XDG_RUNTIME_DIR`, or with another one, listens elsewhere than this environment says. Its lock
/// is where it always is.
package struct ServiceLocation: Sendable {
    package var paths: ServicePaths

    package init(paths: ServicePaths) {
        self.paths = paths
    }

    /// The path to connect to. Looked up each time: services come and go.
    package var socket: String { holder?.socket ?? paths.socket.path(percentEncoded: false) }

    /// The service that lives; nil where the lock is free, or is nobody's whom this user could trust.
    package var holder: LockRecord? {
        let descriptor = open(paths.lock.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return nil }
        // A lock that can be had is nobody's: what the file says is of a service that has ended. A service that starts in this
        // moment asks for its lock again.
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.longestRecord)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? LockRecord(parsing: String(decoding: bytes.prefix(count), as: UTF8.self)) : nil
    }

    /// Bytes; a path has at most 107.
    private static let longestRecord = 512
    /// Bytes of a socket's path, with room for the final NUL (unix(7)).
    package static let longestPath = 107
}
