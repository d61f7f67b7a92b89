import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc

/// The file of a socket that we have bound: removed at the end, unless someone has put another in its place.
struct SocketFile: Sendable {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Nil where the socket is not ours to remove.
    init?(_ socket: ListeningSocket) {
        var status = stat()
        guard case .path(let path) = socket, lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Whether its path still leads to it.
    var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == inode
    }

    func remove() {
        if isThere { unlink(path) }
    }
}
