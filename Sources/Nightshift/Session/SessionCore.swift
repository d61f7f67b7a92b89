import Dispatch
import Foundation
import FoundationNetworking
import NightshiftAPI
import NightshiftClient
import Synchronization

/// One background session of this process: the effects of a ``SessionMachine``, which decides.
///
/// Two serial queues: ``requests`` sends requests to the service and may wait for it; ``events`` hands messages to the delegate,
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

    /// The machine, and what a value cannot hold of what it decides about.
    struct State {
        var machine = SessionMachine()
        /// Released at the end, and with it the delegate: until then the session lives without the app holding it.
        var session: BackgroundURLSession?
        var delegate: (any URLSessionDelegate)?
        /// The app's objects, by the machine's numbers.
        var tasks: [Int: any BackgroundTask] = [:]
        var dataTasks: [Int: BackgroundDataTask] = [:]
        var loader: DataTaskLoader?
        var reader: EventReader?
        /// The continuations of waiting callers, by the machine's numbers.
        var waiters: [Int: @Sendable () -> Void] = [:]
        /// Work that waits for the service, by the machine's numbers.
        var work: [Int: Work] = [:]
        /// Whether the developer knows how the delegate hears that its events are finished.
        var hasAdvisedConformance = false
    }

    struct Work: Sendable {
        var run: @Sendable (SessionCore) -> Void
        /// Called instead where the session is over first.
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
        requests = DispatchQueue(label: "nightshift.session.requests")
        events = DispatchQueue(label: "nightshift.session.events")
        state = Mutex(State(delegate: delegate))
    }

    var delegate: (any URLSessionDelegate)? { state.withLock(\.delegate) }

    /// The last message that the delegate has been given, by this process or an earlier one.
    var lastHandled: Int64 { state.withLock(\.machine.messages.lastHandled) }

    /// Why the service does not accept the session, if it does not.
    var failure: URLError? { state.withLock(\.machine.link.refusal) }

    var isOver: Bool { state.withLock(\.machine.life.isOver) }

    func task(_ id: TaskID) -> (any BackgroundTask)? {
        state.withLock { state in state.machine.tasks.number(of: id).flatMap { state.tasks[$0] } }
    }

    /// Every task that has not ended and is known here, in the order in which they were made.
    var openTasks: [any BackgroundTask] {
        state.withLock { state in
            guard !state.machine.life.isCancelled else { return [] }
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

    /// Session and delegate; nil where the delegate is not to be called.
    ///
    /// - Parameter isLast: whether it is for the last message of the session.
    func audience(isLast: Bool = false) -> (session: BackgroundURLSession, delegate: any URLSessionDelegate)? {
        state.withLock { state in
            guard state.machine.life.admitsCall(isLast: isLast), let session = state.session,
                let delegate = state.delegate
            else { return nil }
            return (session, delegate)
        }
    }

    /// Calls the app and waits until it has returned. Only from ``events``, or from the queue of the loader.
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
