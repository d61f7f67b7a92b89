public import Foundation
import Synchronization

// Unchecked because of its subclasses. Its mutable state is in mutexes, and the handler is called once, by one thread.
/// A task that the app was launched or woken for. Its subclass says which kind of task it is.
public class BGTask: NSObject, @unchecked Sendable {
    public let identifier: String
    private let state = Mutex(State())
    private let onCompletion: @Sendable (_ success: Bool) -> Void

    // Unchecked because of the handler, which is called once, by the thread that takes it out of the state.
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
    /// stop. It is nil afterwards.
    ///
    /// Stop the work and call ``setTaskCompleted(success:)`` in this handler. Without a handler, the task ends as
    /// unsuccessful at that time.
    public var expirationHandler: (() -> Void)? {
        get { state.withLock(\.expirationHandler) }
        set {
            // The handler is called by the thread that takes it out of the state, which happens once.
            nonisolated(unsafe) let handler = newValue
            // The previous handler is released after the lock, because objects that it holds may call this task while
            // they are released.
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

    /// Called when the task has just been completed.
    func completed() {}

    /// Called when the service can be reached, for the first time or again.
    func onReconnect() {}

    /// Handles the end of the task's time, shortly before it: calls the handler, if there is one, and returns
    /// afterwards.
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

/// A task that has thirty seconds to fetch new content.
public final class BGAppRefreshTask: BGTask, @unchecked Sendable {}

/// A task that has minutes for work while nobody uses the device. It expires when the user returns.
public final class BGProcessingTask: BGTask, @unchecked Sendable {}
