import Foundation
import NightshiftAPI
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file to upload. The app may remove it once `resume()` has returned: until the service has its copy, it is held open here.
extension TaskCore {
    /// Opens the file of an upload that the service does not have yet.
    ///
    /// - Returns: whether it is open: the service is to copy it, or is doing so.
    func openSource() -> Bool {
        guard let source, state.withLock({ $0.id == nil && $0.token == nil }) else { return false }
        if hasOpenSource { return true }
        let descriptor = open(source.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // Missing, which is said later; or too many are open: then it has to stay where it is for a while longer.
        guard descriptor >= 0 else { return false }
        guard descriptor < Self.firstSparedDescriptor else {
            close(descriptor)
            return false
        }
        let (isKept, isOpen) = state.withLock { state in
            guard state.id == nil, state.descriptor == nil else { return (false, state.descriptor != nil) }
            state.descriptor = descriptor
            return (true, true)
        }
        if !isKept { close(descriptor) }
        return isOpen
    }

    /// The last quarter of what the process may have open is for the app, for the way to the service, and for libdispatch, which
    /// ends a process without any. The kernel gives the lowest number that is free.
    private static var firstSparedDescriptor: Int {
        var values = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &values) == 0 else { return 0 }
        let count = Int(clamping: values.rlim_cur)
        return count - count / 4
    }

    /// Whether the service copies the file when it takes the task over, which may be long: behind other files, too.
    var hasOpenSource: Bool { state.withLock { $0.descriptor != nil } }

    /// Whether copying its file takes longer than a caller is made to wait for.
    var isLarge: Bool { state.withLock { $0.expectedToSend > SessionCore.smallUpload } }

    /// How long the service may take to take the task over.
    var handoverPatience: Duration { hasOpenSource ? SessionCore.copyPatience : SessionCore.requestPatience }

    /// Its end may come before the answer to its hand-over: nobody wants a copy then. While the service is being told of the task, which
    /// names the descriptor, it stays open: whoever does that comes here behind it.
    func closeSourceIfEnded() {
        guard state.withLock({ $0.phase == .completed }) else { return }
        try? turn.run(within: .zero) { _ in closeSource() }
    }

    /// The service has its copy, or nobody wants one any more.
    func closeSource() {
        let descriptor = state.withLock { state in
            defer { state.descriptor = nil }
            return state.descriptor
        }
        if let descriptor { close(descriptor) }
    }
}
