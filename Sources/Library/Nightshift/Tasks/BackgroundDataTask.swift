import Executors
public import Foundation
public import FoundationNetworking
import Synchronization

/// A data task of a background session. As on Apple's systems, this process loads the data, and the task ends with the
/// process.
///
/// You can use it on any thread. Only sessions create data tasks.
public final class BackgroundDataTask: URLSessionDataTask, @unchecked Sendable {
    // This class is unchecked because its base class is unchecked too. The properties added here are constant or in a
    // mutex.

    let session: SessionCore
    private let identifier: Int
    private let ownProgress = Progress(totalUnitCount: -1)
    private static let following = WorkQueue()
    let content: Mutex<Content>
    /// A lock that serialises the calls to FoundationNetworking's task.
    private let turn = Mutex(())

    struct Content {
        var request: URLRequest
        var response: URLResponse?
        var error: (any Error)?
        var control = TaskControl()
        var received: Int64 = 0
        var expectedToReceive: Int64 = 0
        var sent: Int64 = 0
        var expectedToSend: Int64 = 0
        /// The number of successive credentials that the server has rejected.
        var refusals = 0
        /// Whether the task was passed to the loader.
        var hasBegun = false
        /// FoundationNetworking's task. Nil until this task has been resumed.
        var loading: URLSessionDataTask?
        /// Whether ``loading`` is suspended. It is suspended when it is made.
        var isHeld = true
    }

    init(_ session: SessionCore, identifier: Int, request: URLRequest) {
        self.session = session
        self.identifier = identifier
        content = Mutex(Content(request: request))
        super.init()
        ownProgress.control(self, cancel: { $0.cancel() }, follow: { $0.followProgress() })
    }

    /// Suspends or resumes the task to match its progress object. The serial queue keeps the calls to
    /// FoundationNetworking in order.
    private func followProgress() {
        Self.following.add { [self] in
            apply(content.withLock { $0.control.follow(isPaused: ownProgress.isPaused) })
        }
    }

    /// The task's identifier, which is unique among all tasks of the session, including downloads and uploads.
    public override var taskIdentifier: Int { identifier }

    public override var originalRequest: URLRequest? { content.withLock(\.request) }

    /// The current request. It differs from ``originalRequest`` after redirects.
    public override var currentRequest: URLRequest? {
        content.withLock { $0.loading?.currentRequest ?? $0.request }
    }

    public override var response: URLResponse? { content.withLock(\.response) }

    public override var state: URLSessionTask.State { content.withLock(\.control.visibleState) }

    public override var error: (any Error)? { content.withLock(\.error) }

    public override var progress: Progress { ownProgress }

    public override var countOfBytesReceived: Int64 { content.withLock(\.received) }

    /// The expected number of bytes, or -1 if it is unknown.
    public override var countOfBytesExpectedToReceive: Int64 { content.withLock(\.expectedToReceive) }

    public override var countOfBytesSent: Int64 { content.withLock(\.sent) }

    public override var countOfBytesExpectedToSend: Int64 { content.withLock(\.expectedToSend) }

    /// Reverses one call to ``suspend()``. The method returns at once.
    public override func resume() { apply(content.withLock { $0.control.resume() }) }

    /// Suspends the task. Calls nest: each call must be reversed by a call to ``resume()``.
    public override func suspend() { apply(content.withLock { $0.control.suspend() }) }

    private func apply(_ change: TaskControl.Change) {
        let isFirst = content.withLock { content in
            guard change == .resumed, !content.hasBegun else { return false }
            content.hasBegun = true
            return true
        }
        if isFirst { session.load(self) } else { follow() }
    }

    /// Stores FoundationNetworking's task and starts it if necessary. Returns false if this task has ended or is about
    /// to end.
    func take(_ loading: URLSessionDataTask) -> Bool {
        let isTaken = content.withLock { content in
            guard content.control.isOpen else { return false }
            (content.loading, content.isHeld) = (loading, true)
            return true
        }
        if isTaken { follow() }
        return isTaken
    }

    /// Suspends or resumes FoundationNetworking's task, as the app wants it now. Calls to FoundationNetworking's
    /// `suspend()` nest, so they are made only on changes.
    private func follow() {
        turn.withLock { _ in
            let news = content.withLock { content -> (loading: URLSessionDataTask, isHeld: Bool)? in
                let isHeld = content.control.isSuspended
                guard content.control.isOpen, let loading = content.loading, content.isHeld != isHeld else {
                    return nil
                }
                content.isHeld = isHeld
                return (loading, isHeld)
            }
            guard let news else { return }
            if news.isHeld { news.loading.suspend() } else { news.loading.resume() }
        }
    }

    /// Cancels the task and returns at once. The delegate is notified with `NSURLErrorCancelled` when the task has been
    /// cancelled.
    public override func cancel() {
        let isFirst = content.withLock { $0.control.cancel() }
        if isFirst { session.cancelLoading(self) }
    }

    func count(_ change: (inout Content) -> Void) {
        let (done, total) = content.withLock { content in
            change(&content)
            return (content.received, content.expectedToReceive)
        }
        ownProgress.show(done, of: total)
    }
}
