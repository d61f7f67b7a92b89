import CDispatch  // This import is needed for stat(2), which the compiler attributes to this module.
import CNightshift
import Clock
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The lock that makes this process the only service of a home. It is held until ``release()`` or until the process
/// ends for any reason.
///
/// A killed process stays in the kernel while one of its threads waits for a file system that does not respond. Such a
/// process still holds the lock, but can no longer execute, so another process takes the lock over.
final class InstanceLock: Sendable {
    private let file: Mutex<Int32>
    /// Whether the lock was held by a killed process that is still in the kernel.
    let isTakenOver: Bool

    /// The maximum number of attempts to take a lock that no living process seems to hold. The attempts are 10 ms
    /// apart.
    private static let attempts = 500
    /// The number of attempts before the lock of a killed process is taken over. A process that ends normally has ended
    /// by then.
    private static let attemptsBeforeTakingOver = 100

    /// The maximum number of attempts to take a lock that a living process seems to hold. A client that checks for a
    /// service holds the lock for a moment.
    private static let attemptsBesideOthers = 10

    /// The maximum number of attempts to take a lock whose holder was asked to stop. A service stops within 2 s, unless
    /// a disk is stuck. systemd waits 90 s for the start of this service.
    private static let attemptsAfterRequest = 6_000

    /// Takes the lock.
    ///
    /// - Parameters:
    ///   - socket: The path on which this service will listen.
    ///   - replaces: Whether a running service is asked to stop, so that this one takes over.
    /// - Throws: ``DaemonError/alreadyRunning(processID:home:)``, or ``DaemonError/home(_:)`` if the lock cannot be
    ///   created.
    init(paths: ServicePaths, socket: String, replaces: Bool = false) throws(DaemonError) {
        let path = paths.lock.path
        var descriptor = try Self.open(path)
        var isTakenOver = false
        var attempts = 0
        var request: pid_t?
        while true {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // Another process may have taken the lock over just before this call.
                if Self.isNamed(descriptor, path) { break }
                close(descriptor)
                descriptor = try Self.open(path)
                continue
            }
            guard errno == EWOULDBLOCK else {
                let reason = String(cString: strerror(errno))
                close(descriptor)
                throw .home("The lock file \(path) cannot be locked: \(reason).")
            }
            let holder = Self.holder(path)
            // The holder may be an app that a killed service was about to launch. The app holds the lock from the fork
            // until it has closed the inherited descriptors.
            let hasEnded = holder.map(Self.hasEnded) ?? true
            if replaces, !hasEnded, let holder, request != holder, Self.requestStop(of: holder, path, descriptor) {
                request = holder
            }
            let limit =
                if hasEnded { Self.attempts } else if request == holder { Self.attemptsAfterRequest } else {
                    Self.attemptsBesideOthers
                }
            guard attempts < limit else {
                close(descriptor)
                throw .alreadyRunning(processID: holder, home: paths.state.path)
            }
            attempts += 1
            poll(nil, 0, 10)
            guard attempts >= Self.attemptsBeforeTakingOver else { continue }
            isTakenOver = Self.removeLock(path, heldThrough: descriptor) || isTakenOver
            close(descriptor)
            descriptor = try Self.open(path)
        }
        // The record lets clients find the socket, whatever their environment is. It also informs people.
        let text = LockRecord(processID: getpid(), socket: socket).text
        ftruncate(descriptor, 0)
        _ = text.utf8CString.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, text.utf8.count, 0) }
        file = Mutex(descriptor)
        self.isTakenOver = isTakenOver
    }

    /// Releases the lock for the next service, even if a thread of this process may not end.
    func release() {
        file.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    private static func open(_ path: String) throws(DaemonError) -> Int32 {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .home("The lock file \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        return descriptor
    }

    /// Removes the lock file of a killed process. If several callers try this at the same time, only one of them
    /// succeeds.
    ///
    /// - Returns: Whether this call removed the file.
    private static func removeLock(_ path: String, heldThrough descriptor: Int32) -> Bool {
        let guardian = Glibc.open("\(path).takeover", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard guardian >= 0 else { return false }
        defer { close(guardian) }
        guard flock(guardian, LOCK_EX) == 0, isNamed(descriptor, path), let holder = holder(path),
            ProcessStatistics(of: holder)?.isZombie == true
        else { return false }
        return unlink(path) == 0
    }

    /// Asks the service that holds the lock to stop. Returns false if it has ended meanwhile.
    private static func requestStop(of holder: pid_t, _ path: String, _ descriptor: Int32) -> Bool {
        let process = nightshift_pidfd_open(holder)
        guard process >= 0 else { return false }
        defer { close(process) }
        // The holder is compared again, because from here on the descriptor certainly refers to one process.
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else {
            flock(descriptor, LOCK_UN)
            return false
        }
        return Self.holder(path) == holder && nightshift_pidfd_signal(process, SIGTERM) == 0
    }

    private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
        var (open, named) = (stat(), stat())
        return fstat(descriptor, &open) == 0 && lstat(path, &named) == 0 && open.st_ino == named.st_ino
            && open.st_dev == named.st_dev
    }

    private static func holder(_ path: String) -> pid_t? {
        (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { LockRecord(parsing: $0)?.processID }
    }

    private static func hasEnded(_ process: pid_t) -> Bool { ProcessStatistics(of: process)?.isZombie ?? true }

    deinit {
        release()
    }
}
