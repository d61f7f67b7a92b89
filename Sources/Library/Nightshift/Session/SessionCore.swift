import Dispatch
import Executors
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// One background session of this process. It executes the effects that its ``SessionMachine`` decides.
///
/// There are two serial queues. ``requests`` sends requests to the service and may wait for responses. ``events``
/// passes messages to the delegate, one at a time. Neither queue ever waits for the other.
final class SessionCore: Sendable {
    let identifier: String
    let configuration: BackgroundConfiguration
    let connection: ServiceConnection
    let delegateQueue: OperationQueue
    let requests: WorkQueue
    let events: WorkQueue
    /// The queue for sending uploads whose files the service copies meanwhile.
    let copies = WorkQueue()
    /// The queue for callers that wait for the service's answer. It is separate, so that these callers do not take
    /// threads from the app's own queues.
    let waiting = WorkQueue()
    let state: Mutex<State>
    /// The folder for files that are handed to the app. Nil until the service has sent its name for the session.
    let folder = Mutex<DeliveryFolder?>(nil)

    /// The time that `resume()` waits for a service that does not respond.
    static let resumeTimeout: Duration = .seconds(5)
    /// The time that the service may take to copy a large file.
    static let copyTimeout: Duration = .seconds(3_600)
    /// The time that `resume()` waits for a large file to be copied. A file system that can clone files finishes within
    /// this time.
    static let copyWait: Duration = .milliseconds(250)
    /// The largest size, in bytes, of a file that is copied within some milliseconds.
    static let smallUpload: Int64 = 4 << 20
    /// The time for which a request on ``requests`` is repeated before the next one is sent.
    static let requestTimeout: Duration = .seconds(30)
    /// The time that an ending session waits for messages from before this process.
    static let backlogTimeout: Duration = .seconds(2)
    /// The time that a new task waits for its number if the service is running or being started.
    static let attachmentTimeout: Duration = .seconds(2)

    /// The state machine, and the objects that belong to its values.
    struct State {
        var machine = SessionMachine()
        /// The `URLSession` object. It is released when the session ends, together with the delegate. Until then the
        /// session exists even if the app does not retain it.
        var session: BackgroundURLSession?
        var delegate: (any URLSessionDelegate)?
        /// The app's task objects. The key is the machine's number of the task.
        var tasks: [Int: any BackgroundTask] = [:]
        var dataTasks: [Int: BackgroundDataTask] = [:]
        var loader: DataTaskLoader?
        var reader: EventReader?
        /// The continuations of waiting callers. The key is the machine's number of the waiter.
        var waiters: [Int: @Sendable () -> Void] = [:]
        /// The work that waits for the service. The key is the machine's number of the work.
        var work: [Int: Work] = [:]
        /// Whether the library has already printed how the delegate is notified that its events are finished.
        var hasAdvisedConformance = false
    }

    struct Work: Sendable {
        var run: @Sendable (SessionCore) -> Void
        /// The closure that is called instead of `run` if the session ends first.
        var giveUp: @Sendable (SessionCore) -> Void
    }

    init(
        _ configuration: BackgroundConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue,
        connection: ServiceConnection
    ) {
        identifier = configuration.identifier ?? ""
        self.configuration = configuration
        self.connection = connection
        self.delegateQueue = delegateQueue
        requests = WorkQueue()
        events = WorkQueue()
        state = Mutex(State(delegate: delegate))
    }

    var delegate: (any URLSessionDelegate)? { state.withLock(\.delegate) }

    /// The id of the last message that the delegate received, in this process or an earlier one.
    var lastHandled: Int64 { state.withLock(\.machine.messages.lastHandled) }

    /// The reason why the service refuses the session. Nil if the service does not refuse the session.
    var failure: URLError? { state.withLock(\.machine.link.refusal) }

    var isOver: Bool { state.withLock(\.machine.life.isOver) }

    func task(_ id: TaskID) -> (any BackgroundTask)? {
        state.withLock { state in state.machine.tasks.number(of: id).flatMap { state.tasks[$0] } }
    }

    /// The tasks known in this process that have not ended, in the order in which they were made.
    var openTasks: [any BackgroundTask] {
        state.withLock { state in
            guard !state.machine.life.isCancelled else { return [] }
            return state.tasks.values.filter { $0.core.visibleState != .completed }.sorted {
                $0.core.identifier < $1.core.identifier
            }
        }
    }

    /// Calls `body` on the app's delegate queue. If the app removes the call with `cancelAllOperations()`, the call is
    /// added again, because the session waits for it.
    func onDelegateQueue(_ body: @escaping @Sendable () -> Void) {
        let call = DelegateCall { [self] in onDelegateQueue(body) }
        delegateQueue.addOperation {
            call.begin()
            body()
        }
    }

    /// Returns the session and its delegate, or nil if the delegate must not be called.
    ///
    /// - Parameter isLast: Whether the call is for the session's last message.
    func audience(isLast: Bool = false) -> (session: BackgroundURLSession, delegate: any URLSessionDelegate)? {
        state.withLock { state in
            guard state.machine.life.admitsCall(isLast: isLast), let session = state.session,
                let delegate = state.delegate
            else { return nil }
            return (session, delegate)
        }
    }

    /// Calls the app and waits until the call has returned. Must be called on ``events`` or on the loader's queue.
    func callDelegate(
        isLast: Bool = false,
        _ body: @escaping @Sendable (BackgroundURLSession, any URLSessionDelegate) -> Void
    ) {
        guard let (session, delegate) = audience(isLast: isLast) else { return }
        let isDone = DispatchSemaphore(value: 0)
        onDelegateQueue {
            body(session, delegate)
            isDone.signal()
        }
        isDone.wait()
    }
}

/// A call in the app's operation queue. If the app cancels the queue's operations, the queue releases the call without
/// running it, and this class adds the call again.
private final class DelegateCall: Sendable {
    private let hasBegun = Atomic(false)
    private let again: @Sendable () -> Void

    init(again: @escaping @Sendable () -> Void) { self.again = again }

    func begin() { hasBegun.store(true, ordering: .relaxed) }

    deinit {
        // The call is added from another thread, because the operation queue may be in the middle of an operation here.
        if !hasBegun.load(ordering: .relaxed) { WorkQueue.start(again) }
    }
}
