public import Foundation
public import FoundationNetworking
import NightshiftAPI
import Synchronization

/// An upload from a file that the service carries out, whatever becomes of this process.
///
/// For any thread. Never made by hand: sessions make them.
public final class BackgroundUploadTask: URLSessionUploadTask, BackgroundTask, @unchecked Sendable {
    // Unchecked as its base class is; what is added is constant, and safe itself.

    let core: TaskCore

    init(_ core: TaskCore) {
        self.core = core
        super.init()
    }

    /// Unique in the session, for all its time.
    public override var taskIdentifier: Int { core.identifier }

    public override var originalRequest: URLRequest? { core.state.withLock(\.originalRequest) }

    /// Differs from ``originalRequest`` where redirects have led elsewhere.
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

    /// -1 while it is not known.
    public override var countOfBytesExpectedToReceive: Int64 { core.state.withLock(\.expectedToReceive) }

    public override var countOfBytesSent: Int64 { core.state.withLock(\.sent) }

    public override var countOfBytesExpectedToSend: Int64 { core.state.withLock(\.expectedToSend) }

    /// Takes effect when set before the task is resumed for the first time.
    public override var countOfBytesClientExpectsToSend: Int64 {
        get { core.state.withLock(\.clientExpectsToSend) }
        set { core.state.withLock { $0.clientExpectsToSend = newValue } }
    }

    /// Takes effect when set before the task is resumed for the first time.
    public override var countOfBytesClientExpectsToReceive: Int64 {
        get { core.state.withLock(\.clientExpectsToReceive) }
        set { core.state.withLock { $0.clientExpectsToReceive = newValue } }
    }

    /// Takes effect when set before the task is resumed for the first time.
    public override var earliestBeginDate: Date? {
        get { core.state.withLock(\.earliestBeginDate) }
        set { core.state.withLock { $0.earliestBeginDate = newValue } }
    }

    /// 0...1; also while the task runs. Kept over a relaunch, unlike on Apple's systems.
    public override var priority: Float {
        get { core.state.withLock(\.priority) }
        set { core.change(TaskChange(priority: TaskCore.told(newValue))) { $0.priority = newValue } }
    }

    /// Kept over a relaunch. At most 64 KiB: a task with a longer one ends with `NSURLErrorDataLengthExceedsMaximum`; of a task that is
    /// resumed already, the service keeps the description from before.
    public override var taskDescription: String? {
        get { core.state.withLock(\.description) }
        set { core.describe(newValue) }
    }

    /// Undoes one ``suspend()``. Returns when the service has the task on disk, which takes some milliseconds; at once where it cannot
    /// be reached, and after 5 s where it does not answer. Then it is told as soon as it can be, for as long as this process lives.
    public override func resume() { core.resume() }

    /// Nests: as many calls of ``resume()`` are needed. No traffic and no timeouts meanwhile.
    public override func suspend() { core.suspend() }

    /// Returns at once; the delegate is told when it is done, with `NSURLErrorCancelled`.
    public override func cancel() { core.cancel() }
}
