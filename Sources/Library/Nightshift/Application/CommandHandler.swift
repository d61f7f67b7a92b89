import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// A receiver that executes the service's commands. An ``Application`` becomes the receiver when it is launched.
protocol CommandReceiver: AnyObject, Sendable {
    /// Moves the app to a state.
    ///
    /// - Parameter done: A closure that is called when the delegate has returned.
    func enter(_ state: AppState, done: @escaping @Sendable () -> Void)

    /// Notifies the app of a session's events.
    ///
    /// - Parameters:
    ///   - completion: The completion handler for the app.
    ///   - told: A closure that is called when the delegate has returned.
    func handleEvents(
        of session: String, completion: @escaping @Sendable () -> Void, told: @escaping @Sendable () -> Void)

    /// Lets the app fetch new content.
    ///
    /// - Parameter completion: A closure that is called with the result of the fetch. If the app's delegate calls its
    ///   completion handler several times, this closure is called several times too.
    func performFetch(completion: @escaping @Sendable (RefreshResult) -> Void)

    /// Passes a remote notification to the app.
    ///
    /// - Parameter completion: A closure that is called with the result. If the app's delegate calls its completion
    ///   handler several times, this closure is called several times too.
    func receive(_ delivery: PushDelivery, completion: @escaping @Sendable (RefreshResult) -> Void)

    /// Notifies the app that it received a token for remote notifications, or that its registration was refused.
    func registrationEnded(_ notice: PushNotice)

    /// Notifies the app that ``Application/backgroundRefreshStatus`` has changed.
    func refreshStatusChanged()

    func takeSnapshot(done: @escaping @Sendable (Data?) -> Void)

    func willTerminate(done: @escaping @Sendable () -> Void)
}

/// An object that handles each command of the service once, and acknowledges it when it is done.
final class CommandHandler: Sendable {
    private let queue = WorkQueue()
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        weak var receiver: (any CommandReceiver)?
        /// The most recent commands and their progress. The handler uses them to recognize commands that the service
        /// repeats after a broken connection.
        var known: [Entry] = []
        var waiting: [Events] = []
        /// The sessions that have ended in this process, with the last message that their delegates have handled.
        var ended: [String: Int64] = [:]
        /// The last state that the app entered without a command, and that has not been reported yet. A command to
        /// enter another state clears it.
        var unreported: AppState?
        /// The last state that the service commanded before the app was launched.
        var enteredEarly: AppState?

        /// Removes and returns the events of a session that the app was notified of, up to the last handled message.
        mutating func takeTold(_ session: String, through handled: Int64) -> [Events] {
            let isMeant = { (events: Events) in
                events.session == session && events.isTold && events.through <= handled
            }
            defer { waiting.removeAll(where: isMeant) }
            return waiting.filter(isMeant)
        }
    }

    private struct Entry {
        var command: ProcessCommand
        /// The channel on which the command last arrived. On another channel, the command's number might belong to
        /// another command.
        var channel: String?
        /// The number of times that the command was done, or arrived again after it was done. Each of these times
        /// requires an acknowledgement.
        var finishes = 0
        /// The number of acknowledgements that were sent for the command.
        var told = 0
        /// The result of a ``ProcessCommand/Action/handleWake`` command.
        var result: RefreshResult?
        /// The presentation options that result from a ``ProcessCommand/Action/present`` command.
        var presentation: Int?

        init(command: ProcessCommand, channel: String?) {
            self.command = command
            self.channel = channel
        }

        var isDone: Bool { finishes > 0 }

        /// Whether the command is done, but not acknowledged yet.
        var isUntold: Bool { told < finishes }

        var isOver: Bool { isDone && !isUntold }

        /// Whether a repeated command is acknowledged without being executed again.
        var isDoneOnce: Bool { isDone && [.handleEvents, .handleWake, .present].contains(command.action) }
    }

    /// A command to deliver the events of a session. The command ends when the delegate has been notified that all
    /// messages up to `through` were delivered.
    private struct Events {
        let command: ProcessCommand
        var session: String
        var through: Int64
        /// Whether the app's method for session events was called.
        var isTold = false
        /// Whether the command arrived while there was no receiver, because the program is not an app or has not been
        /// launched yet.
        var isEarly = false
        /// A closure that acknowledges the command. The app's completion handler does the same.
        var acknowledge: @Sendable () -> Void
        /// Completion handlers to call after the delegate was notified.
        var completions: [@Sendable () -> Void] = []
    }

    /// The maximum number of finished commands that are remembered. Unfinished commands are kept in addition.
    private static let mostKnown = 64
    private static let timeout: Duration = .seconds(30)
    /// The time that sessions have to send their tasks to the service before the app may be suspended or terminated.
    private static let handoverTimeout: Duration = .seconds(3)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// Sets the receiver, and sends it the commands that arrived earlier. Commands can arrive early because, for
    /// example, a delegate may create its session as a property before the app is launched.
    func setReceiver(_ receiver: any CommandReceiver) {
        let (early, entered) = state.withLock { state in
            state.receiver = receiver
            defer {
                state.waiting.removeAll(where: \.isEarly)
                state.enteredEarly = nil
            }
            return (state.waiting.filter(\.isEarly).map(\.command), state.enteredEarly)
        }
        if let entered { receiver.enter(entered) { [self] in if entered == .background { handOver() } } }
        for command in early { handleEvents(command) }
    }

    func receive(_ command: ProcessCommand, on channel: String?) {
        let (known, receiver) = state.withLock { state -> (Entry?, (any CommandReceiver)?) in
            if let index = state.known.firstIndex(where: { $0.command == command }) {
                state.known[index].channel = channel
                return (state.known[index], state.receiver)
            }
            state.known.append(Entry(command: command, channel: channel))
            // Unfinished commands are kept. For example, a task that the user has started may still run after many
            // other commands.
            if state.known.count > Self.mostKnown, let old = state.known.firstIndex(where: \.isOver) {
                state.known.remove(at: old)
            }
            return (nil, state.receiver)
        }
        if let known, known.isDoneOnce {
            // The acknowledgement that was sent earlier did not reach the service.
            finish(command, known.result, presentation: known.presentation)
        } else if known?.isDone != false {
            // The command is new, or a restarted service counts its commands from the beginning. A command to enter a
            // state may be executed twice without harm.
            execute(command, receiver)
        }
    }

    private func execute(_ command: ProcessCommand, _ receiver: (any CommandReceiver)?) {
        switch command.action {
        case .enter:
            let newState = command.state ?? .inactive
            let receiver = state.withLock { state in
                // The app's earlier state is no longer reported, because such a report would undo this command.
                state.unreported = nil
                if state.receiver == nil { state.enteredEarly = newState }
                return state.receiver
            }
            let done: @Sendable () -> Void = { [self] in
                if newState == .background { handOver() }
                finish(command)
            }
            if let receiver { receiver.enter(newState, done: done) } else { queue.add(done) }
        case .handleEvents:
            handleEvents(command)
        case .handleWake:
            guard let wakes = state.withLock(\.connection)?.wakes else { return }
            wakes.begin(
                command, for: { [self] in state.withLock(\.receiver) },
                acknowledge: { [self] in finish(command, $0) })
        case .snapshot:
            guard let receiver else { return finish(command) }
            receiver.takeSnapshot { [self] data in
                queue.add { [self] in
                    if let data { _ = notifyService(.putSnapshot(data)) }
                    finish(command)
                }
            }
        case .expire:
            guard let tasks = state.withLock(\.connection)?.backgroundTasks else { return }
            tasks.expire { [self] in finish(command) }
        case .expireWake:
            guard let wakes = state.withLock(\.connection)?.wakes else { return }
            wakes.expire(command, isApplication: receiver != nil) { [self] in finish(command) }
        case .present:
            // A program that is not an app may not serve the main thread.
            guard let presenter = state.withLock(\.connection)?.presenter,
                receiver != nil || presenter.delegate != nil
            else { return finish(command) }
            presenter.present(command.payload) { [self] in finish(command, presentation: $0) }
        case .terminate:
            let done: @Sendable () -> Void = { [self] in
                handOver()
                finish(command)
                // The process exits after the acknowledgement was sent, because both run on this queue. `exit` runs the
                // remaining `atexit` handlers.
                queue.add { exit(EXIT_SUCCESS) }
            }
            if let receiver { receiver.willTerminate(done: done) } else { queue.add(done) }
        }
    }

    private func handOver() {
        state.withLock(\.connection)?.sessions.handOverAll(timeout: Self.handoverTimeout)
    }

    // MARK: - Session events

    private func handleEvents(_ command: ProcessCommand) {
        let session = command.session ?? ""
        // The command is acknowledged only once, because an app may call its handler after the library has completed
        // the wake.
        let completion: @Sendable () -> Void = { [self] in
            if !state.withLock({ $0.known.contains { $0.command == command && $0.isDone } }) { finish(command) }
        }
        let receiver = state.withLock { state in
            var events = Events(
                command: command, session: session, through: command.through ?? 0, acknowledge: completion)
            if state.receiver == nil {
                // Without a receiver, the command is completed after the session's delegate has been notified.
                events.isTold = true
                events.isEarly = true
                events.completions = [completion]
            }
            state.waiting.append(events)
            return state.receiver
        }
        if let receiver {
            receiver.handleEvents(of: session, completion: completion) { [self] in
                state.withLock { state in
                    for index in state.waiting.indices where state.waiting[index].command == command {
                        state.waiting[index].isTold = true
                    }
                }
                advanced(session)
            }
        } else {
            advanced(session)
        }
    }

    /// Calls `completion` when the session's delegate has been notified that all events are delivered. This method is
    /// used for apps that do not implement the method for session events.
    ///
    /// The app is notified of commands in their order. Therefore, `completion` belongs to the first command that has no
    /// completion yet.
    func complete(_ session: String, _ completion: @escaping @Sendable () -> Void) {
        state.withLock { state in
            let index = state.waiting.firstIndex {
                $0.session == session && !$0.isTold && $0.completions.isEmpty
            }
            if let index { state.waiting[index].completions.append(completion) }
        }
    }

    private func advanced(_ session: String) {
        if let core = state.withLock(\.connection)?.sessions.session(session) {
            advanced(core)
        } else {
            completeEnded(session)
        }
    }

    /// Completes the commands of a session that has ended in this process, because the session's delegate can no longer
    /// be notified.
    func ended(_ core: SessionCore) {
        let handled = core.lastHandled
        state.withLock { $0.ended[core.identifier] = handled }
        completeEnded(core.identifier)
    }

    private func completeEnded(_ session: String) {
        let finished = state.withLock { state in
            state.ended[session].map { state.takeTold(session, through: $0) } ?? []
        }
        for events in finished {
            for completion in events.completions { completion() }
            events.acknowledge()
        }
    }

    /// Finishes the commands of a session whose messages have been handled. This method is called when a session was
    /// created, and when its delegate has handled a message.
    func advanced(_ core: SessionCore) {
        let handled = core.lastHandled
        let finished = state.withLock { state in
            state.ended[core.identifier] = nil
            return state.takeTold(core.identifier, through: handled)
        }
        guard !finished.isEmpty else { return }
        core.finishEvents { isHeard in
            for events in finished {
                for completion in events.completions { completion() }
                // The delegate does not implement the method in which the app would call its completion handler.
                // Without this acknowledgement, the service would terminate the app.
                if !isHeard { events.acknowledge() }
            }
        }
    }

    // MARK: - Reports to the service

    private func finish(_ command: ProcessCommand, _ result: RefreshResult? = nil, presentation: Int? = nil) {
        state.withLock { state in
            for index in state.known.indices where state.known[index].command == command {
                state.known[index].result = result
                state.known[index].presentation = presentation
                state.known[index].finishes += 1
            }
        }
        queue.add { [self] in acknowledge(command) }
    }

    /// Acknowledges a finished command. This method runs on ``queue``.
    private func acknowledge(_ command: ProcessCommand) {
        guard let entry = state.withLock({ state in state.known.first { $0.command == command && $0.isUntold } })
        else { return }
        var acknowledgement = CommandAcknowledgement(command: command.number, result: entry.result)
        acknowledgement.presentation = entry.presentation
        guard notifyService(.acknowledge(acknowledgement), on: entry.channel) else { return }
        state.withLock { state in
            // If the command arrived again meanwhile, the repeated command still has to be acknowledged.
            for index in state.known.indices where state.known[index].command == command {
                state.known[index].told = entry.finishes
            }
        }
    }

    /// Passes a change of the background refresh status to the receiver.
    func refreshStatusChanged() {
        state.withLock(\.receiver)?.refreshStatusChanged()
    }

    /// Reports that the app entered the foreground or the background.
    func report(_ newState: AppState) {
        state.withLock { $0.unreported = newState }
        queue.add { [self] in
            if newState == .background { handOver() }
            tell(newState)
        }
    }

    /// Reports a state if it is still the last unreported state. This method runs on ``queue``.
    private func tell(_ newState: AppState) {
        let isSo = { [self] in state.withLock { $0.unreported == newState } }
        guard isSo(), notifyService(.report(ProcessStateChange(state: newState)), while: isSo) else { return }
        state.withLock { if $0.unreported == newState { $0.unreported = nil } }
    }

    /// Sends the unsent acknowledgements and the unreported state when the service can be reached, for the first time
    /// or again.
    func onReconnect() {
        queue.add { [self] in
            let (untold, unreported) = state.withLock { ($0.known.filter(\.isUntold), $0.unreported) }
            for entry in untold { acknowledge(entry.command) }
            if let unreported { tell(unreported) }
        }
    }

    /// Sends a report. Returns false only if the report has to be sent again later. A refused report is not repeated,
    /// because a restarted service repeats its own commands. This method runs on ``queue``.
    private func notifyService(
        _ endpoint: Endpoint<Void>, on channel: String? = nil, while isWanted: () -> Bool = { true }
    ) -> Bool {
        do {
            try state.withLock(\.connection)?.notify(
                endpoint, on: channel, timeout: Self.timeout, while: isWanted)
        } catch is ServiceUnreachable {
            return false
        } catch {
            // The report was refused, or its channel is no longer open.
        }
        return true
    }
}

extension SessionCore {
    /// Notifies the delegate that all events are delivered, and then calls `completion`, on the delegate queue. The
    /// argument of `completion` is true if the delegate implements the method.
    fileprivate func finishEvents(_ completion: @escaping @Sendable (_ isHeard: Bool) -> Void) {
        let audience = audience()
        onDelegateQueue { [self] in
            let listener = audience?.delegate as? any URLSessionBackgroundDelegate
            if let audience, let listener {
                listener.urlSessionDidFinishEvents(forBackgroundURLSession: audience.session)
            } else if let audience {
                adviseConformance(of: audience.delegate)
            }
            completion(listener != nil)
        }
    }

    /// Prints a line of code that the developer can add so that the delegate is notified of the end of its events. The
    /// line is printed once for each session.
    private func adviseConformance(of delegate: any URLSessionDelegate) {
        let isFirst = state.withLock { state in
            defer { state.hasAdvisedConformance = true }
            return !state.hasAdvisedConformance
        }
        if isFirst { Notice.print(Self.conformanceAdvice(for: delegate, session: identifier)) }
    }

    static func conformanceAdvice(for delegate: any URLSessionDelegate, session: String) -> String {
        let name = String(describing: type(of: delegate))
        return """
            The delegate of the session "\(session)" is not notified that its events are finished, and its wakes are completed \
            automatically. If it implements urlSessionDidFinishEvents(forBackgroundURLSession:), add this line: \
            extension \(name): URLSessionBackgroundDelegate {}
            """
    }
}
