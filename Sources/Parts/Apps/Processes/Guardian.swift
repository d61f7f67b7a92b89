import CNightshift
import Glibc
import NightshiftAPI

/// The guardian: a process that thaws all frozen processes if the service dies. It exists only while a process is
/// frozen.
///
/// The guardian is a fork without descriptors except for a socket. The service sends it the list of frozen processes
/// over this socket. The guardian thaws them when the service, or the kernel, closes the other end.
struct Guardian {
    private let watcher: DescriptorWatcher
    private var current: (pid: pid_t, socket: Int32)?
    /// Child processes that have not been reaped, with their pidfds.
    private var children: [pid_t: Int32] = [:]
    /// The frozen processes, each with the freeze file of its cgroup; nil if the process was stopped by signals.
    private var guarded: [ProcessIdentity: String?] = [:]

    /// The number of processes that one guardian can hold. It is more than the number of apps on any desktop.
    static let capacity = Int(NIGHTSHIFT_GUARDIAN_CAPACITY)
    /// The bit that marks the tokens of guardians. The other bits of a token are the pid.
    private static let tokenBit: UInt64 = 1 << 63
    /// The timeout for the guardian to end. It only has to thaw processes.
    private static let longestEnd: Duration = .seconds(5)

    init(watcher: DescriptorWatcher) {
        self.watcher = watcher
    }

    /// The pid of the running guardian; nil if none runs.
    var pid: pid_t? { current?.pid }

    static func owns(_ token: UInt64) -> Bool { token & tokenBit != 0 }

    /// Adds a process that is about to be frozen. `freezeFile` is the file that freezes it; nil if it is stopped by
    /// signals.
    ///
    /// Returns false if no guardian can run. In that case, the caller must not freeze the process.
    mutating func add(_ process: ProcessIdentity, freezeFile: String?) -> Bool {
        guard guarded.count < Self.capacity, ensureRunning() else { return false }
        guard sendToGuardian(process, isFrozen: true, freezeFile: freezeFile) else { return false }
        guarded[process] = .some(freezeFile)
        return true
    }

    /// Removes a thawed process. The guardian ends after the last process is removed.
    mutating func remove(_ process: ProcessIdentity) {
        guard guarded.removeValue(forKey: process) != nil else { return }
        // The guardian must get this before it ends. Otherwise, it would thaw a process that has been frozen again by
        // then.
        _ = sendToGuardian(process, isFrozen: false, freezeFile: nil)
        if guarded.isEmpty { release() }
    }

    /// Handles the end of a child process. If it was the current guardian, another guardian is started.
    mutating func childEnded(token: UInt64) {
        let pid = pid_t(token & ~Self.tokenBit)
        guard let pidfd = children.removeValue(forKey: pid) else { return }
        reap(pidfd)
        guard let current, current.pid == pid else { return }
        close(current.socket)
        self.current = nil
        guard !guarded.isEmpty, ensureRunning() else { return }
        for (process, freezeFile) in guarded { _ = sendToGuardian(process, isFrozen: true, freezeFile: freezeFile) }
    }

    /// Ends the guardian and waits for its end. The guardian thaws all processes that are still in its list.
    mutating func shutdown() {
        release()
        for (_, pidfd) in children {
            var event = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, Int32(saturating: Self.longestEnd / .milliseconds(1)))
            reap(pidfd)
        }
        children = [:]
    }

    private mutating func release() {
        guard let current else { return }
        close(current.socket)
        self.current = nil
        guarded = [:]
    }

    private func reap(_ pidfd: Int32) {
        var status: Int32 = 0
        _ = nightshift_pidfd_wait(pidfd, &status, WNOHANG)
        watcher.remove(pidfd)
        close(pidfd)
    }

    private func sendToGuardian(_ process: ProcessIdentity, isFrozen: Bool, freezeFile: String?) -> Bool {
        guard let current else { return false }
        return nightshift_guardian_tell(
            current.socket, isFrozen ? 1 : 0, process.pid, process.startTime, freezeFile) == 0
    }

    private mutating func ensureRunning() -> Bool {
        guard current == nil else { return true }
        var sockets: [Int32] = [-1, -1]
        guard nightshift_guardian_sockets(&sockets) == 0 else { return false }
        var pid: pid_t = 0
        let result = nightshift_guardian_start(sockets[1], &pid)
        close(sockets[1])
        let pidfd = result == 0 ? nightshift_pidfd_open(pid) : -1
        guard pidfd >= 0, watcher.add(pidfd, token: Self.tokenBit | UInt64(pid)) else {
            // The guardian ends when this end of its socket is closed.
            close(sockets[0])
            if result == 0 { waitpid(pid, nil, 0) }
            if pidfd >= 0 { close(pidfd) }
            return false
        }
        children[pid] = pidfd
        current = (pid, sockets[0])
        return true
    }
}
