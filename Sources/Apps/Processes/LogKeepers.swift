import CNightshift
import Glibc

/// The keepers of the logs of apps that run: whoever ends one of them, another one takes its place.
///
/// They outlive the service, as the apps do, and end with them.
struct LogKeepers {
    private let watcher: DescriptorWatcher
    private var watched: [pid_t: (pidfd: Int32, output: AppOutput)] = [:]

    /// Tokens with this bit are of keepers; the other bits are the pid.
    private static let tokenBit: UInt64 = 1 << 62

    init(watcher: DescriptorWatcher) {
        self.watcher = watcher
    }

    static func owns(_ token: UInt64) -> Bool { !Guardian.owns(token) && token & tokenBit != 0 }

    /// The processes that work.
    var processes: [pid_t] { watched.keys.sorted() }

    /// To be called while somebody can write to the FIFO.
    mutating func ensure(_ output: AppOutput) throws(LaunchFailure) {
        let process = try output.ensureKeeper()
        guard watched[process] == nil else { return }
        let pidfd = nightshift_pidfd_open(process)
        // It has ended already, because another one works.
        guard pidfd >= 0 else { return }
        guard watcher.add(pidfd, token: Self.tokenBit | UInt64(process)) else {
            _ = close(pidfd)
            return
        }
        watched[process] = (pidfd, output)
    }

    /// One has ended: with its app, or because somebody has killed it.
    mutating func ended(token: UInt64) {
        guard let (pidfd, output) = watched.removeValue(forKey: pid_t(token & ~Self.tokenBit)) else { return }
        watcher.remove(pidfd)
        close(pidfd)
        guard output.hasWriters else { return }
        // Where that fails, the app waits for the next launch or service as soon as its FIFO is full.
        try? ensure(output)
    }

    /// Watches them no longer; they go on.
    mutating func shutdown() {
        for (pidfd, _) in watched.values {
            watcher.remove(pidfd)
            close(pidfd)
        }
        watched = [:]
    }
}
