import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import Glibc

/// The file of a socket that this service has bound. The service removes the file when it stops, unless another file
/// has replaced it.
struct SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Records the file of a socket that this service created. Returns nil if this service must not remove the socket.
    init?(_ socket: ListeningSocket) {
        var status = stat()
        guard case .path(let path) = socket, lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Whether the path still leads to this socket.
    var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == inode
    }

    func remove() {
        if isThere { unlink(path) }
    }
}
