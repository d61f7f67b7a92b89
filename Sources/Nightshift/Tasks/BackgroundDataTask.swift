import Dispatch
public import Foundation
public import FoundationNetworking
import Synchronization

/// A data task of a background session: loaded in this process, and gone with it, as on Apple's systems.
///
/// For any thread. Never made by hand: sessions make them.
public final class BackgroundDataTask: URLSessionDataTask, @unchecked Sendable {
    // Unchecked as its base class is; what is added is constant, or in a mutex.

    let session: SessionCore
    private let identifier: Int
    private let ownProgress = Progress(totalUnitCount: -1)
    private static let following = DispatchQueue(label: "nightshift.data-tasks.progress")
    let content: Mutex<Content>
    /// Of whoever tells FoundationNetworking's task what the app wants, one at a time.
    private let turn = Mutex(())

    struct Content {
        var request: URLRequest
        var response: URLResponse?
        var error: (any Error)?
        /// It starts suspended, once.
        var suspensions = 1
        /// Whether one of the suspensions stands for the progress, which is paused.
        var isPausedByProgress = false
        var phase = TaskCore.Phase.open
        var received: Int64 = 0
        var expectedToReceive: Int64 = 0
        var sent: Int64 = 0
        var expectedToSend: Int64 = 0
        /// Credentials in a row that the server did not take.
        var refusals = 0
        /// Whether it was given to the loader.
        var hasBegun = false
        /// FoundationNetworking's task, once it has been resumed.
        var loading: URLSessionDataTask?
        /// Whether ``loading`` stands still, as it does at first.
        var isHeld = true
    }

    init(_ session: SessionCore, identifier: Int, request: URLRequest) {
        self.session = session
        self.identifier = identifier
        content = Mutex(Content(request: request))
        super.init()
        ownProgress.isCancellable = true
        ownProgress.isPausable = true
        ownProgress.cancellationHandler = { [weak self] in self?.cancel() }
        ownProgress.pausingHandler = { [weak self] in self?.followProgress() }
        ownProgress.resumingHandler = { [weak self] in self?.followProgress() }
    }

    /// Foundation on Linux calls its handlers once for each call, and in any order: they only say that there is something to see.
    /// One after the other here, as what FoundationNetworking is told has to come in order.
    private func followProgress() {
        Self.following.async { [self] in
            let isPaused = ownProgress.isPaused
            let isNew = content.withLock { content in
                defer { content.isPausedByProgress = isPaused }
                return content.isPausedByProgress != isPaused
            }
            guard isNew else { return }
            if isPaused { suspend() } else { resume() }
        }
    }

    /// Unique in the session, among its downloads and uploads too.
    public override var taskIdentifier: Int { identifier }

    public override var originalRequest: URLRequest? { content.withLock(\.request) }

    /// Differs from ``originalRequest`` where redirects have led elsewhere.
    public override var currentRequest: URLRequest? {
        content.withLock { $0.loading?.currentRequest ?? $0.request }
    }

    public override var response: URLResponse? { content.withLock(\.response) }

    public override var state: URLSessionTask.State {
        content.withLock { content in
            switch content.phase {
            case .canceling: .canceling
            case .completed: .completed
            case .open: content.suspensions > 0 ? .suspended : .running
            }
        }
    }

    public override var error: (any Error)? { content.withLock(\.error) }

    public override var progress: Progress { ownProgress }

    public override var countOfBytesReceived: Int64 { content.withLock(\.received) }

    /// -1 where it is not known.
    public override var countOfBytesExpectedToReceive: Int64 { content.withLock(\.expectedToReceive) }

    public override var countOfBytesSent: Int64 { content.withLock(\.sent) }

    public override var countOfBytesExpectedToSend: Int64 { content.withLock(\.expectedToSend) }

    /// Undoes one ``suspend()``. Returns at once.
    public override func resume() {
        let isFirst = content.withLock { content in
            guard content.phase == .open, content.suspensions > 0 else { return false }
            content.suspensions -= 1
            guard content.suspensions == 0, !content.hasBegun else { return false }
            content.hasBegun = true
            return true
        }
        if isFirst { session.load(self) } else { follow() }
    }

    /// Nests: as many calls of ``resume()`` are needed.
    public override func suspend() {
        content.withLock { content in
            if content.phase == .open { content.suspensions += 1 }
        }
        follow()
    }

    /// Takes FoundationNetworking's task for its own, unless it has ended or is about to.
    func take(_ loading: URLSessionDataTask) -> Bool {
        let isTaken = content.withLock { content in
            guard content.phase == .open else { return false }
            (content.loading, content.isHeld) = (loading, true)
            return true
        }
        if isTaken { follow() }
        return isTaken
    }

    /// Has FoundationNetworking's task load or stand still, as the app wants it now. There the calls nest: it hears what is news alone.
    private func follow() {
        turn.withLock { _ in
            let news = content.withLock { content -> (loading: URLSessionDataTask, isHeld: Bool)? in
                let isHeld = content.suspensions > 0
                guard content.phase == .open, let loading = content.loading, content.isHeld != isHeld else {
                    return nil
                }
                content.isHeld = isHeld
                return (loading, isHeld)
            }
            guard let news else { return }
            if news.isHeld { news.loading.suspend() } else { news.loading.resume() }
        }
    }

    /// Returns at once; the delegate is told when it is done, with `NSURLErrorCancelled`.
    public override func cancel() {
        let isFirst = content.withLock { content in
            guard content.phase == .open else { return false }
            content.phase = .canceling
            return true
        }
        if isFirst { session.cancelLoading(self) }
    }

    func count(_ change: (inout Content) -> Void) {
        let (done, total) = content.withLock { content in
            change(&content)
            return (content.received, content.expectedToReceive)
        }
        ownProgress.totalUnitCount = total > 0 ? total : -1
        ownProgress.completedUnitCount = done
    }
}
