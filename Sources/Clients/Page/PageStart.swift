import Glibc
import NightshiftClient

/// The start of a page process. A lock ensures that only one process at a time looks for a running page and opens its
/// own socket.
struct PageStart: Sendable {
    /// The path of the Unix socket on which a page process gives out links.
    let socket: String
    private let lock: Int32

    /// Opens the lock file, and waits until this process holds the lock.
    ///
    /// - Parameter directory: the directory of the service's socket, which only the user can enter. If it does not
    ///   exist, each process serves its own page.
    init(directory: String) {
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        socket = folder + "page.sock"
        lock = open(folder + "page.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if lock >= 0 { flock(lock, LOCK_EX) }
    }

    /// Whether this process holds the lock. While it holds the lock, no other process opens the socket.
    var isExclusive: Bool { lock >= 0 }

    /// Returns the address of the running page, with a new link; nil if no page runs.
    func runningPage() -> PageAddress? { LinkSocket.ask(socket) }

    /// Releases the lock, so that the next process can start. Must be called only once.
    func finish() {
        if lock >= 0 { close(lock) }
    }
}
