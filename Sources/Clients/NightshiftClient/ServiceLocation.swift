import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Foundation
package import NightshiftAPI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The location of the service's socket: the path that the running service recorded, or otherwise the default path.
///
/// A service that was started without `XDG_RUNTIME_DIR`, or with another value, listens at a path that this environment
/// does not suggest. The path of its lock file is always the same.
package struct ServiceLocation: Sendable {
    package var paths: ServicePaths

    package init(paths: ServicePaths) {
        self.paths = paths
    }

    /// The path to connect to. It is determined on each access, because services start and stop.
    package var socket: String { holder?.socket ?? paths.socket.path(percentEncoded: false) }

    /// The record of the running service; nil if the lock is free, or if its owner is not trusted.
    package var holder: LockRecord? {
        LockedFile(path: paths.lock.path(percentEncoded: false)).text.flatMap { LockRecord(parsing: $0) }
    }

    /// The maximum size of a socket path in bytes, without the final NUL (unix(7)).
    package static let longestPath = 107
}

/// A file that the process which wrote it has locked while it runs.
struct LockedFile {
    var path: String

    /// The contents of the file; nil if the lock is free, or if the owner of the file is not trusted.
    var text: String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return nil }
        // If the lock can be acquired, no process holds it, and the contents of the file are outdated. A process that
        // starts at this moment tries again to take the lock.
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var bytes = [UInt8](repeating: 0, count: Self.longestRecord)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    /// The maximum size of the contents in bytes. The path of a socket in them has at most 107 bytes.
    private static let longestRecord = 512
}
