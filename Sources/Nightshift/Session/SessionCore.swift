import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// One background session of this process: what it knows of its tasks, and its connection with the service.
///
/// Two serial queues: ``requests`` tells the service things and may wait for it; ``events`` hands messages to the delegate,
/// one at a time. Neither ever waits for the other.
final class SessionCore: Sendable {
    let identifier: String
    let configuration: BackgroundConfiguration
    let connection: ServiceConnection
    let delegateQueue: OperationQueue
    let requests: DispatchQueue
    let events: DispatchQueue
    /// Hands over uploads whose files are copied meanwhile.
    let copies = DispatchQueue(label: "nightshift.session.copies")
    /// For work that waits for the service to have answered: on a queue of its own, so that the app's have their threads.
    let waiting = DispatchQueue(label: "nightshift.session.waiting")
    let state: Mutex<State>
    /// Nil until the service has said how it calls the session.
    let folder = Mutex<DeliveryFolder?>(nil)

    /// How long `resume()` waits for a service that does not answer.
    static let resumePatience: Duration = .seconds(5)
    /// How long the service may take to copy a large file.
    static let copyPatience: Duration = .seconds(3_600)
    /// How long `resume()` waits for that: a file system that shares bytes between files is done by then.
    static let copyWait: Duration = .milliseconds(250)
    /// Bytes that are copied within some milliseconds.
    static let smallUpload: Int64 = 4 << 20
    /// How long a request of ``requests`` is repeated before the next one has its turn.
    static let requestPatience: Duration = .seconds(30)
    /// How long the end of a session waits for what it may have missed; a service without any messages says nothing.
    static let backlogPatience: Duration = .seconds(2)
    /// How long a new task waits to learn its number from a service that is there, or is being started.
    static let attachmentPatience: Duration = .seconds(2)

    struct State {
        /// Let go of at the end, and with it the delegate: until then the session lives without the app holding it.
        var session: BackgroundURLSession?
        var delegate: (any URLSessionDelegate)?
        var attachment = Attachment.pending
        /// Whether the service has to be told (again) that the session is here.
        var needsAttachment = true
        /// Whether the last attempt to tell it has failed: nobody waits for the next one.
        var isAway = false
        var isInvalidating = false
        /// Whether the app has cancelled the whole session: no task is its own any more.
        var isCancelled = false
        /// Whether the service has said which tasks there are, or was waited for in vain, since then.
        var maySettle = false
        var isInvalid = false
        /// The number of the next task; nil while the service has not said it.
        var nextIdentifier: Int64?
        var tasks: [Int: any BackgroundTask] = [:]
        var taskIdentifiers: [TaskID: Int] = [:]
        /// Tasks that the service had and has not listed at the last attachment: messages tell of their ends, or it has forgotten them.
        var unlisted: [Int: TaskID] = [:]
        /// Data tasks, which are this process's own; their numbers are none of ``tasks``.
        var dataTasks: [Int: BackgroundDataTask] = [:]
        var loader: DataTaskLoader?
        /// Numbers of the tasks that the service could not be told about, in the order in which it is to hear of them.
        var belated: [Int] = []
        var isRetrying = false
        /// Other work that waits for the service.
        var whenBack: [Waiting] = []
        var reader: EventReader?
        /// Pause before the next attempt to attach.
        var pause: Duration = .zero
        /// Questions that the delegate has been asked and that the service waits for.
        var asked: Set<Int64> = []
        /// Handled messages that the service is still to hear of.
        var unacknowledged: [Int64] = []
        var isAcknowledging = false
        /// Acknowledged a moment ago, the oldest first: a stream that was opened before may still bring them.
        var acknowledged: [Int64] = []
        /// The largest id of a message that the delegate has been given, now or by an earlier process.
        var lastHandled: Int64 = 0
        /// Whether this process has been given everything that was there before it.
        var isCaughtUp = false
        /// Whether it was said how the delegate hears that its events are finished.
        var hasAdvisedConformance = false
        /// Threads that wait for that.
        var backlogWaiters: [DispatchSemaphore] = []
        /// Those who wait for the attachment.
        var waiters: [AttachmentWaiter] = []

        /// Whether nothing of it is told to the service any more: it has ended, or is refused.
        var isOver: Bool {
            if case .failed = attachment { return true }
            return isInvalid
        }
    }

    /// Work that waits for the service to be back.
    struct Waiting: Sendable {
        var run: @Sendable (SessionCore) -> Void
        /// Called in its place where the session is over before.
        var giveUp: @Sendable (SessionCore) -> Void
    }

    /// What a session lets go of at its end, some of it the app's.
    struct Holdings {
        var session: BackgroundURLSession?
        var delegate: (any URLSessionDelegate)?
        var dataTasks: [Int: BackgroundDataTask]
        var loader: DataTaskLoader?
        var reader: EventReader?
        var waiters: [AttachmentWaiter]
    }

    enum Attachment {
        case pending
        case attached
        /// For good: every task ends with this error.
        case failed(URLError)
    }

    init(
        _ configuration: BackgroundConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue,
        connection: ServiceConnection
    ) {
        identifier = configuration.identifier ?? ""
        self.configuration = configuration
        self.connection = connection
        self.delegateQueue = delegateQueue
        requests = DispatchQueue(label: "nightshift.session.requests")
        events = DispatchQueue(label: "nightshift.session.events")
        state = Mutex(State(delegate: delegate))
    }

    var delegate: (any URLSessionDelegate)? { state.withLock(\.delegate) }

    func task(_ id: TaskID) -> (any BackgroundTask)? {
        state.withLock { state in state.taskIdentifiers[id].flatMap { state.tasks[$0] } }
    }

    /// Every task that has not ended and is known here, in the order in which they were made.
    var openTasks: [any BackgroundTask] {
        state.withLock { state in
            guard !state.isCancelled else { return [] }
            return state.tasks.values.filter { $0.core.visibleState != .completed }.sorted {
                $0.core.identifier < $1.core.identifier
            }
        }
    }

    /// Calls the app, in turn with everything else that its queue has. What the app takes out of that by `cancelAllOperations()` comes
    /// again: the session waits for it.
    func onDelegateQueue(_ body: @escaping @Sendable () -> Void) {
        let call = DelegateCall { [self] in onDelegateQueue(body) }
        delegateQueue.addOperation {
            call.begin()
            body()
        }
    }

    /// Calls the app and waits until it has returned. Only from ``events``.
    func callDelegate(_ body: @escaping @Sendable (BackgroundURLSession, any URLSessionDelegate) -> Void) {
        guard
            let (session, delegate) = state.withLock({ state in
                if let session = state.session, let delegate = state.delegate { return (session, delegate) }
                return nil as (BackgroundURLSession, any URLSessionDelegate)?
            })
        else { return }
        let isDone = DispatchSemaphore(value: 0)
        onDelegateQueue {
            body(session, delegate)
            isDone.signal()
        }
        isDone.wait()
    }
}

/// A call that waits in the app's queue, which lets go of it without a word where the app cancels what is there.
private final class DelegateCall: Sendable {
    private let hasBegun = Atomic(false)
    private let again: @Sendable () -> Void

    init(again: @escaping @Sendable () -> Void) { self.again = again }

    func begin() { hasBegun.store(true, ordering: .relaxed) }

    deinit {
        // The queue may be at it.
        if !hasBegun.load(ordering: .relaxed) { DispatchQueue.global().async(execute: again) }
    }
}
