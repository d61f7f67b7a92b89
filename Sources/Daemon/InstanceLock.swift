import Foundation
import Glibc
import NightshiftAPI

/// The right to be the one service of a home, held until the process ends, however it ends.
final class InstanceLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``DaemonError/alreadyRunning(processID:home:)``, or ``DaemonError/home(_:)`` where there can be no lock.
    init(paths: ServicePaths) throws(DaemonError) {
        let path = paths.lock.path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .home("The lock \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let holder = (try? String(contentsOfFile: path, encoding: .utf8))?.trimmingCharacters(
                in: .whitespacesAndNewlines)
            // deinit closes the descriptor, here as well.
            guard reason == EWOULDBLOCK else {
                throw .home("The lock \(path) cannot be taken: \(String(cString: strerror(reason))).")
            }
            throw .alreadyRunning(processID: holder.flatMap { Int32($0) }, home: paths.state.path)
        }
        // For people who look; nobody relies on it.
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        _ = text.utf8CString.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, text.utf8.count, 0) }
    }

    deinit {
        close(descriptor)
    }
}
