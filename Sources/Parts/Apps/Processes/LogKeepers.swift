import CNightshift
import Glibc

/// The log keepers of the running apps. A keeper that ends before its app is replaced.
///
/// Like the apps, keepers continue to run after the service has ended. They end with their apps.
struct LogKeepers {
    private let watcher: DescriptorWatcher
    private var watched: [pid_t: (pidfd: Int32, output: AppOutput)] = [:]

    /// The bit that marks the tokens of keepers. The other bits of a token are the pid.
    private static let tokenBit: UInt64 = 1 << 62

    /// A function that is called with the pid of each new keeper.
    private let started: @Sendable (pid_t) -> Void

    init(watcher: DescriptorWatcher, started: @escaping @Sendable (pid_t) -> Void = { _ in }) {
        self.watcher = watcher
        self.started = started
    }

    static func owns(_ token: UInt64) -> Bool { !Guardian.owns(token) && token & tokenBit != 0 }

    /// The pids of the running keepers.
    var processes: [pid_t] { watched.keys.sorted() }

    /// Starts a keeper if none runs. The FIFO must have a writer at this time.
    mutating func ensure(_ output: AppOutput) throws(LaunchFailure) {
        let process = try output.ensureKeeper()
        guard watched[process] == nil else { return }
        let pidfd = nightshift_pidfd_open(process)
        // The process has already ended, because another keeper holds the lock.
        guard pidfd >= 0 else { return }
        guard watcher.add(pidfd, token: Self.tokenBit | UInt64(process)) else {
            _ = close(pidfd)
            return
        }
        watched[process] = (pidfd, output)
        started(process)
    }

    /// Handles the end of a keeper, which ended with its app or was killed.
    mutating func ended(token: UInt64) {
        guard let (pidfd, output) = watched.removeValue(forKey: pid_t(token & ~Self.tokenBit)) else { return }
        watcher.remove(pidfd)
        close(pidfd)
        guard output.hasWriters else { return }
        // If this fails, the app blocks once its FIFO is full, until its next launch or the next start of the service.
        try? ensure(output)
    }

    /// Stops watching the keepers. They continue to run.
    mutating func shutdown() {
        for (pidfd, _) in watched.values {
            watcher.remove(pidfd)
            close(pidfd)
        }
        watched = [:]
    }
}
