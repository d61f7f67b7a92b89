import Foundation
import NightshiftAPI
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Access to the file of an upload. The app may delete the file after `resume()` has returned, because the file is kept
/// open until the service has a copy.
extension TaskCore {
    /// Opens the file of an upload that the service does not have yet.
    ///
    /// - Returns: Whether the file is open. The service then copies it.
    func openSource() -> Bool {
        guard let source, state.withLock({ $0.handover.id == nil && $0.token == nil }) else { return false }
        if hasOpenSource { return true }
        let descriptor = open(source.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // Either the file is missing, which is reported later, or too many files are open. If too many files are open,
        // the app must keep the file until it has been sent.
        guard descriptor >= 0 else { return false }
        guard descriptor < Self.firstSparedDescriptor else {
            close(descriptor)
            return false
        }
        let (isKept, isOpen) = state.withLock { state in
            guard state.handover.id == nil, state.descriptor == nil else { return (false, state.descriptor != nil) }
            state.descriptor = descriptor
            return (true, true)
        }
        if !isKept { close(descriptor) }
        return isOpen
    }

    /// The first descriptor that is not used for uploads. The kernel returns the lowest free number, so a higher
    /// descriptor means that many files are open. The last quarter of the process's descriptors is left to the app, to
    /// connections to the service, and to libdispatch, which ends a process if it cannot get a descriptor.
    private static var firstSparedDescriptor: Int {
        var values = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &values) == 0 else { return 0 }
        let count = Int(clamping: values.rlim_cur)
        return count - count / 4
    }

    /// Whether the service copies the file when it accepts the task. The copy can take a long time, because the service
    /// may copy other files first.
    var hasOpenSource: Bool { state.withLock { $0.descriptor != nil } }

    /// Whether copying the file can take longer than a caller should wait.
    var isLarge: Bool { state.withLock { $0.expectedToSend > SessionCore.smallUpload } }

    /// The time within which the service must accept the task.
    var handoverTimeout: Duration { hasOpenSource ? SessionCore.copyTimeout : SessionCore.requestTimeout }

    /// Closes the file if the task has ended, because its copy is then no longer wanted. If the task ended before a
    /// request was answered, a request that names the descriptor may still be in progress. In that case, the thread of
    /// that request closes the descriptor afterwards.
    func closeSourceIfEnded() {
        guard state.withLock({ $0.handover.control.phase == .completed }) else { return }
        try? turn.run(within: .zero) { _ in closeSource() }
    }

    /// Closes the file, because the service has its copy or the copy is no longer wanted.
    func closeSource() {
        let descriptor = state.withLock { state in
            defer { state.descriptor = nil }
            return state.descriptor
        }
        if let descriptor { close(descriptor) }
    }
}
