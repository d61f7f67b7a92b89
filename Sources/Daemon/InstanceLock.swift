import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Clock
import Foundation
import Glibc
import NightshiftAPI
import Synchronization

/// The right to be the one service of a home, held until ``release()`` or the end of the process, however it ends.
///
/// A process that was killed lives on in the kernel while one of its threads waits for a file system that does not answer, and has the
/// lock all the same. It no longer executes anything: the lock is taken over from it.
final class InstanceLock: Sendable {
    private let file: Mutex<Int32>
    /// Whether a process had the lock that was killed and is still in the kernel.
    let isTakenOver: Bool

    /// How often a lock is asked for that nobody seems to have, 10 ms apart.
    private static let attempts = 500
    /// After how many of these it is taken over from a process that was killed: what ends in the ordinary way has ended by then.
    private static let attemptsBeforeTakingOver = 100

    /// How often it is asked for although a living process seems to have it: a client that looks for the service has it for a moment.
    private static let attemptsBesideOthers = 10

    /// - Parameter socket: the path on which this service is going to listen.
    /// - Throws: ``DaemonError/alreadyRunning(processID:home:)``, or ``DaemonError/home(_:)`` where there can be no lock.
    init(paths: ServicePaths, socket: String) throws(DaemonError) {
        let path = paths.lock.path
        var descriptor = try Self.open(path)
        var isTakenOver = false
        var attempts = 0
        while true {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // Somebody may have taken the lock over just before.
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
            // What a killed service was about to launch has the lock as well, from its fork until it has closed what is not its own.
            let hasEnded = holder.map(Self.hasEnded) ?? true
            guard attempts < (hasEnded ? Self.attempts : Self.attemptsBesideOthers) else {
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
        // For clients, wherever they look for the service, and for people.
        let text = LockRecord(processID: getpid(), socket: socket).text
        ftruncate(descriptor, 0)
        _ = text.utf8CString.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, text.utf8.count, 0) }
        file = Mutex(descriptor)
        self.isTakenOver = isTakenOver
    }

    /// Lets the next service start, though a thread of this process may not end.
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

    /// Takes the lock's name from a process that was killed, once, even if others are about to do the same.
    ///
    /// - Returns: whether it was done.
    private static func removeLock(_ path: String, heldThrough descriptor: Int32) -> Bool {
        let guardian = Glibc.open("\(path).takeover", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard guardian >= 0 else { return false }
        defer { close(guardian) }
        guard flock(guardian, LOCK_EX) == 0, isNamed(descriptor, path), let holder = holder(path),
            ProcessStatistics(of: holder)?.isZombie == true
        else { return false }
        return unlink(path) == 0
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
