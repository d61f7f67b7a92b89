public import Foundation
import Synchronization

// Unchecked for its subclasses' sake: what changes is in mutexes, and the handler is called by one thread, once.
/// A task that the app was launched or woken for; which one, its subclass says.
public class BGTask: NSObject, @unchecked Sendable {
    public let identifier: String
    private let state = Mutex(State())
    private let onCompletion: @Sendable (_ success: Bool) -> Void

    // Unchecked for the handler, which whoever takes it out calls, once.
    private struct State: @unchecked Sendable {
        var expirationHandler: (() -> Void)?
        var hasExpired = false
        var isCompleted = false
    }

    init(identifier: String, onCompletion: @escaping @Sendable (_ success: Bool) -> Void) {
        self.identifier = identifier
        self.onCompletion = onCompletion
    }

    /// Called once, on any thread, shortly before the time is over, or when the task is not to go on; nil afterwards.
    ///
    /// The place to stop the work and to call ``setTaskCompleted(success:)``. Without a handler the task is then unsuccessful.
    public var expirationHandler: (() -> Void)? {
        get { state.withLock(\.expirationHandler) }
        set {
            // Called by whoever takes it out of the state, which happens once.
            nonisolated(unsafe) let handler = newValue
            // The old one is let go of outside of the lock: what it holds may come back here.
            _ = state.withLock { state -> (() -> Void)? in
                guard !state.hasExpired, !state.isCompleted else { return nil }
                defer { state.expirationHandler = handler }
                return state.expirationHandler
            }
        }
    }

    /// The work is done, or was stopped: the app may be suspended. A second call does nothing.
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

    /// It was completed just now.
    func completed() {}

    /// The service can be reached (again).
    func serviceIsBack() {}

    /// Its time is nearly over: calls the handler where there is one, and returns behind it.
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

/// Thirty seconds to fetch new content.
public final class BGAppRefreshTask: BGTask, @unchecked Sendable {}

/// Minutes of work while nobody uses the device; it expires when its user returns.
public final class BGProcessingTask: BGTask, @unchecked Sendable {}
