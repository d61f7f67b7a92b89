public import Foundation
import Synchronization

// This class is unchecked because of its subclasses. Its mutable state is in mutexes, and the handler is called once,
// by one thread.
/// A task for which the app was launched or woken. The subclass says which kind of task it is.
public class BGTask: NSObject, @unchecked Sendable {
    public let identifier: String
    private let state = Mutex(State())
    private let onCompletion: @Sendable (_ success: Bool) -> Void

    // This type is unchecked because of the handler. The thread that removes the handler from the state calls it once.
    private struct State: @unchecked Sendable {
        var expirationHandler: (() -> Void)?
        var hasExpired = false
        var isCompleted = false
    }

    init(identifier: String, onCompletion: @escaping @Sendable (_ success: Bool) -> Void) {
        self.identifier = identifier
        self.onCompletion = onCompletion
    }

    /// A handler that is called once, on any thread, shortly before the task's time is over, or when the task must
    /// stop. The property is nil afterwards.
    ///
    /// In this handler, stop the work and call ``setTaskCompleted(success:)``. Without a handler, the task ends as
    /// unsuccessful at that time.
    public var expirationHandler: (() -> Void)? {
        get { state.withLock(\.expirationHandler) }
        set {
            // The handler is removed from the state once. The thread that removes it calls it.
            nonisolated(unsafe) let handler = newValue
            // The previous handler is released after the lock is released. Objects that the handler holds may call this
            // task while they are released.
            _ = state.withLock { state -> (() -> Void)? in
                guard !state.hasExpired, !state.isCompleted else { return nil }
                defer { state.expirationHandler = handler }
                return state.expirationHandler
            }
        }
    }

    /// Reports that the work is finished or was stopped. The app may then be suspended. A second call does nothing.
    public func setTaskCompleted(success: Bool) {
        let (isFirst, unused) = state.withLock { state -> (Bool, (() -> Void)?) in
            defer {
                state.isCompleted = true
                state.expirationHandler = nil
            }
            return (!state.isCompleted, state.expirationHandler)
        }
        withExtendedLifetime(unused) {}
        guard isFirst else { return }
        completed()
        onCompletion(success)
    }

    /// Handles the completion of the task. Subclasses override this method.
    func completed() {}

    /// Handles the return of the service, or its first start. Subclasses override this method.
    func onReconnect() {}

    /// Expires the task shortly before its time ends: calls the handler, if there is one, and returns after the handler
    /// has returned.
    func expire() {
        let (isFirst, handler) = state.withLock { state -> (Bool, (() -> Void)?) in
            defer {
                state.hasExpired = true
                state.expirationHandler = nil
            }
            return (!state.hasExpired, state.expirationHandler)
        }
        guard isFirst else { return }
        if let handler { handler() } else { setTaskCompleted(success: false) }
    }
}

/// A task for fetching new content. It has thirty seconds.
public final class BGAppRefreshTask: BGTask, @unchecked Sendable {}

/// A task for several minutes of work while nobody uses the device. The task expires when the user returns.
public final class BGProcessingTask: BGTask, @unchecked Sendable {}
