import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file to upload. The app may remove it once `resume()` has returned: until the service has its copy, it is held open here.
extension TaskCore {
    /// Opens the file of an upload that the service does not have yet; false where there is none to open, or it is open already.
    func openSource() -> Bool {
        guard let source, state.withLock({ $0.id == nil && $0.token == nil && $0.descriptor == nil }) else {
            return false
        }
        let descriptor = open(source.path(percentEncoded: false), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // Missing, which is said later; or too many are open: then it has to stay where it is for a while longer.
        guard descriptor >= 0 else { return false }
        let isKept = state.withLock { state in
            guard state.id == nil, state.descriptor == nil else { return false }
            state.descriptor = descriptor
            return true
        }
        if !isKept { close(descriptor) }
        return isKept
    }

    /// How long the service may take to take the task over.
    var handoverPatience: Duration {
        state.withLock { $0.descriptor == nil } ? SessionCore.requestPatience : SessionCore.copyPatience
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
