import CNightshift
import Glibc
import NightshiftAPI

/// The process that thaws everything when this one dies, and is there only while something is frozen.
///
/// A fork without descriptors of its own, which is told over a socket what is frozen until the other end is closed, be
/// it here or by the kernel.
struct Guardian {
    private let watcher: DescriptorWatcher
    private var current: (pid: pid_t, socket: Int32)?
    /// Children that have not been waited for, with their pidfds.
    private var children: [pid_t: Int32] = [:]
    /// What is frozen, with its cgroup's file; nil where signals stop it.
    private var guarded: [ProcessIdentity: String?] = [:]

    /// What one guardian can hold: more than any desktop has apps.
    static let capacity = Int(NIGHTSHIFT_GUARDIAN_CAPACITY)
    /// Tokens with this bit are of guardians; the other bits are the pid.
    private static let tokenBit: UInt64 = 1 << 63
    /// It has nothing to do but to thaw.
    private static let longestEnd: Duration = .seconds(5)

    init(watcher: DescriptorWatcher) {
        self.watcher = watcher
    }

    /// The process that watches now.
    var pid: pid_t? { current?.pid }

    static func owns(_ token: UInt64) -> Bool { token & tokenBit != 0 }

    /// To be called before a group is frozen, and names the file that freezes it unless signals do.
    ///
    /// False where there can be no guardian: then nothing may be frozen.
    mutating func add(_ process: ProcessIdentity, freezeFile: String?) -> Bool {
        guard guarded.count < Self.capacity, ensureRunning() else { return false }
        guard sendToGuardian(process, isFrozen: true, freezeFile: freezeFile) else { return false }
        guarded[process] = .some(freezeFile)
        return true
    }

    /// To be called after a group was thawed. Ends the guardian with the last one.
    mutating func remove(_ process: ProcessIdentity) {
        guard guarded.removeValue(forKey: process) != nil else { return }
        // Told before it is released: it would thaw what has been frozen anew by then.
        _ = sendToGuardian(process, isFrozen: false, freezeFile: nil)
        if guarded.isEmpty { release() }
    }

    /// A child has ended. Where somebody else ended it, another one takes its place.
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

    /// Ends the guardian, which thaws what it has been told of and not heard otherwise, and waits for it.
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
            // Without its end of the socket it ends by itself.
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
