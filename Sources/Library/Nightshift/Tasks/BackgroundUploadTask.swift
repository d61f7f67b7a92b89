public import Foundation
public import FoundationNetworking
import NightshiftAPI
import Synchronization

/// An upload task for a file. The service does the transfer, independently of this process.
///
/// You can use it on any thread. Only sessions create uploads.
public final class BackgroundUploadTask: URLSessionUploadTask, BackgroundTask, @unchecked Sendable {
    // This class is unchecked because its base class is unchecked too. The properties added here are constant and
    // thread-safe.

    let core: TaskCore

    init(_ core: TaskCore) {
        self.core = core
        super.init()
    }

    /// The task's identifier, which is unique in the session for its whole life.
    public override var taskIdentifier: Int { core.identifier }

    public override var originalRequest: URLRequest? { core.state.withLock(\.originalRequest) }

    /// The current request. It differs from ``originalRequest`` after redirects.
    public override var currentRequest: URLRequest? {
        core.state.withLock { state in
            var request = state.originalRequest
            if let url = state.currentURL { request?.url = url }
            return request
        }
    }

    public override var response: URLResponse? { core.state.withLock(\.response) }

    public override var state: URLSessionTask.State { core.visibleState }

    public override var error: (any Error)? { core.state.withLock(\.error) }

    public override var progress: Progress { core.progress }

    public override var countOfBytesReceived: Int64 { core.state.withLock(\.received) }

    /// The expected number of bytes, or -1 while it is unknown.
    public override var countOfBytesExpectedToReceive: Int64 { core.state.withLock(\.expectedToReceive) }

    public override var countOfBytesSent: Int64 { core.state.withLock(\.sent) }

    public override var countOfBytesExpectedToSend: Int64 { core.state.withLock(\.expectedToSend) }

    /// The number of bytes that the app expects to send. Set it before the task is resumed for the first time. It has
    /// no effect afterwards.
    public override var countOfBytesClientExpectsToSend: Int64 {
        get { core.state.withLock(\.clientExpectsToSend) }
        set { core.state.withLock { $0.clientExpectsToSend = newValue } }
    }

    /// The number of bytes that the app expects to receive. Set it before the task is resumed for the first time. It
    /// has no effect afterwards.
    public override var countOfBytesClientExpectsToReceive: Int64 {
        get { core.state.withLock(\.clientExpectsToReceive) }
        set { core.state.withLock { $0.clientExpectsToReceive = newValue } }
    }

    /// The time before which the task does not begin. Set it before the task is resumed for the first time. It has no
    /// effect afterwards.
    public override var earliestBeginDate: Date? {
        get { core.state.withLock(\.earliestBeginDate) }
        set { core.state.withLock { $0.earliestBeginDate = newValue } }
    }

    /// The priority from 0 to 1. You can also change it while the task runs. Unlike on Apple's systems, the priority is
    /// preserved when the app is relaunched.
    public override var priority: Float {
        get { core.state.withLock(\.priority) }
        set { core.change(TaskChange(priority: TaskCore.told(newValue))) { $0.priority = newValue } }
    }

    /// The app's description of the task. It is preserved when the app is relaunched. A description can have at most 64
    /// KiB. A task with a longer description ends with `NSURLErrorDataLengthExceedsMaximum`. If the task was already
    /// resumed, the service keeps the previous description instead.
    public override var taskDescription: String? {
        get { core.state.withLock(\.description) }
        set { core.describe(newValue) }
    }

    /// Reverses one call to ``suspend()``.
    ///
    /// The method returns when the service has stored the task on disk, which takes some milliseconds. It returns at
    /// once if the service cannot be reached, and after 5 s if the service does not respond. In these two cases, this
    /// process sends the task to the service as soon as possible.
    public override func resume() { core.resume() }

    /// Suspends the task. A suspended task causes no traffic and does not time out. Calls nest: each call must be
    /// reversed by a call to ``resume()``.
    public override func suspend() { core.suspend() }

    /// Cancels the task and returns at once. The delegate is notified with `NSURLErrorCancelled` when the task has been
    /// cancelled.
    public override func cancel() { core.cancel() }
}
