import Clock
import Foundation
import Glibc
import NightshiftAPI

/// The right to be the one service of a home, held until the process ends, however it ends.
final class InstanceLock: Sendable {
    private let descriptor: Int32

    /// How often a lock is asked for that nobody seems to have, 10 ms apart.
    private static let attempts = 500

    /// - Throws: ``DaemonError/alreadyRunning(processID:home:)``, or ``DaemonError/home(_:)`` where there can be no lock.
    init(paths: ServicePaths) throws(DaemonError) {
        let path = paths.lock.path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .home("The lock \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        var attempts = 0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // deinit closes the descriptor, here as well.
            guard errno == EWOULDBLOCK else {
                throw .home("The lock \(path) cannot be taken: \(String(cString: strerror(errno))).")
            }
            let holder = Self.holder(path)
            // What a killed service was about to launch has the lock as well, from its fork until it has closed what is not its own.
            guard attempts < Self.attempts, holder.map(Self.hasEnded) ?? true else {
                throw .alreadyRunning(processID: holder, home: paths.state.path)
            }
            attempts += 1
            poll(nil, 0, 10)
        }
        // For people who look, and for who is to wait for it or not.
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        _ = text.utf8CString.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, text.utf8.count, 0) }
    }

    private static func holder(_ path: String) -> pid_t? {
        (try? String(contentsOfFile: path, encoding: .utf8)).flatMap {
            pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    private static func hasEnded(_ process: pid_t) -> Bool { ProcessStatistics(of: process)?.isZombie ?? true }

    deinit {
        close(descriptor)
    }
}
