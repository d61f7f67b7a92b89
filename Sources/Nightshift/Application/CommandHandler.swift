import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Executes the service's commands: the app, once it runs as an ``Application``.
protocol CommandReceiver: AnyObject, Sendable {
    /// - Parameter done: called when the delegate has returned.
    func enter(_ state: AppState, done: @escaping @Sendable () -> Void)

    /// - Parameters:
    ///   - completion: the handler for the app.
    ///   - told: called when the delegate has returned.
    func handleEvents(
        of session: String, completion: @escaping @Sendable () -> Void, told: @escaping @Sendable () -> Void)

    /// - Parameter completion: called with what came of the fetch; more than once, where the app's delegate does so.
    func performFetch(completion: @escaping @Sendable (RefreshResult) -> Void)

    /// - Parameter completion: called with what came of it; more than once, where the app's delegate does so.
    func receive(_ delivery: PushDelivery, completion: @escaping @Sendable (RefreshResult) -> Void)

    /// The app has a token for remote notifications, or has none.
    func registrationEnded(_ notice: PushNotice)

    /// ``Application/backgroundRefreshStatus`` has changed.
    func refreshStatusChanged()

    func takeSnapshot(done: @escaping @Sendable (Data?) -> Void)

    func willTerminate(done: @escaping @Sendable () -> Void)
}

/// Takes the service's commands, each once, and acknowledges them when they are done.
final class CommandHandler: Sendable {
    private let queue = DispatchQueue(label: "nightshift.commands")
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        weak var receiver: (any CommandReceiver)?
        /// The last commands, with whether they are done: what comes again after a broken connection is known by them.
        var known: [Entry] = []
        var waiting: [Events] = []
        /// Sessions that have ended in this process, with the last message that their delegates have handled.
        var ended: [String: Int64] = [:]
        /// The state that the app has entered by itself and that the service has not heard of yet: the last one, and none behind a
        /// command to enter another.
        var unreported: AppState?
        /// The last state that was to be entered while there was nobody to tell.
        var enteredEarly: AppState?

        /// Takes out what the app was told of a session whose messages were handled up to one.
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
        /// Where it came last: acknowledged anywhere else, its number might be another command's.
        var channel: String?
        /// How often it was done, or came again behind that.
        var finishes = 0
        /// How many of these the service has heard of.
        var told = 0
        /// What came of it, for ``ProcessCommand/Action/handleWake``.
        var result: RefreshResult?
        /// What is shown, for ``ProcessCommand/Action/present``.
        var presentation: Int?

        init(command: ProcessCommand, channel: String?) {
            self.command = command
            self.channel = channel
        }

        var isDone: Bool { finishes > 0 }

        /// Done, and the service has not heard of it yet.
        var isUntold: Bool { told < finishes }

        var isOver: Bool { isDone && !isUntold }

        /// Whether it is acknowledged again rather than done again.
        var isDoneOnce: Bool { isDone && [.handleEvents, .handleWake, .present].contains(command.action) }
    }

    /// A session whose delegate is to hear that everything up to a message was delivered.
    private struct Events {
        let command: ProcessCommand
        var session: String
        var through: Int64
        /// Whether the app has been told to handle them.
        var isTold = false
        /// Whether there was nobody to tell: a program that is no app, or one that has not come to its launch.
        var isEarly = false
        /// Acknowledges the command, as the app's completion handler does.
        var acknowledge: @Sendable () -> Void
        /// Called behind the delegate.
        var completions: [@Sendable () -> Void] = []
    }

    /// Commands that may still come again, and those that are under way beside them.
    private static let mostKnown = 64
    private static let patience: Duration = .seconds(30)
    /// The time that sessions have to hand over their tasks before the app may be stopped.
    private static let handoverPatience: Duration = .seconds(3)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// What has come before, as where the app's delegate makes a session as a property, it is told of now.
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
            // What is under way stays: a task that its user has begun may take longer than many other commands.
            if state.known.count > Self.mostKnown, let old = state.known.firstIndex(where: \.isOver) {
                state.known.remove(at: old)
            }
            return (nil, state.receiver)
        }
        if let known, known.isDoneOnce {
            // The acknowledgement was lost.
            finish(command, known.result, presentation: known.presentation)
        } else if known?.isDone != false {
            // Or a service that was started anew counts from the beginning again; to enter a state twice does no
            // harm.
            execute(command, receiver)
        }
    }

    private func execute(_ command: ProcessCommand, _ receiver: (any CommandReceiver)?) {
        switch command.action {
        case .enter:
            let newState = command.state ?? .inactive
            let receiver = state.withLock { state in
                // Told now, what the app was before would undo it.
                state.unreported = nil
                if state.receiver == nil { state.enteredEarly = newState }
                return state.receiver
            }
            let done: @Sendable () -> Void = { [self] in
                if newState == .background { handOver() }
                finish(command)
            }
            if let receiver { receiver.enter(newState, done: done) } else { queue.async(execute: done) }
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
                queue.async { [self] in
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
            // Without an app nobody may serve the main thread.
            guard let presenter = state.withLock(\.connection)?.presenter,
                receiver != nil || presenter.delegate != nil
            else { return finish(command) }
            presenter.present(command.payload) { [self] in finish(command, presentation: $0) }
        case .terminate:
            let done: @Sendable () -> Void = { [self] in
                handOver()
                finish(command)
                // Behind the acknowledgement; what is left is done by `atexit`.
                queue.async { exit(EXIT_SUCCESS) }
            }
            if let receiver { receiver.willTerminate(done: done) } else { queue.async(execute: done) }
        }
    }

    private func handOver() {
        state.withLock(\.connection)?.sessions.handOverAll(patience: Self.handoverPatience)
    }

    // MARK: - Session events

    private func handleEvents(_ command: ProcessCommand) {
        let session = command.session ?? ""
        // Once: an app may call its handler when the library has completed the wake already.
        let completion: @Sendable () -> Void = { [self] in
            if !state.withLock({ $0.known.contains { $0.command == command && $0.isDone } }) { finish(command) }
        }
        let receiver = state.withLock { state in
            var events = Events(
                command: command, session: session, through: command.through ?? 0, acknowledge: completion)
            if state.receiver == nil {
                // Nobody to tell: the delegate that is there hears the end, and that completes it.
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

    /// Calls `completion` when the session's delegate has heard that it has everything: for apps without a handler of their own.
    ///
    /// It is the one of the first command that has none yet: the app is told of them in their order.
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

    /// A session has ended in this process: nobody is left who would hear that its events are finished.
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

    /// A session has been made, or its delegate has handled a message.
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
                // The app calls its handler in a method that nobody calls: it would be ended for that.
                if !isHeard { events.acknowledge() }
            }
        }
    }

    // MARK: - Telling the service

    private func finish(_ command: ProcessCommand, _ result: RefreshResult? = nil, presentation: Int? = nil) {
        state.withLock { state in
            for index in state.known.indices where state.known[index].command == command {
                state.known[index].result = result
                state.known[index].presentation = presentation
                state.known[index].finishes += 1
            }
        }
        queue.async { [self] in acknowledge(command) }
    }

    /// On ``queue``.
    private func acknowledge(_ command: ProcessCommand) {
        guard let entry = state.withLock({ state in state.known.first { $0.command == command && $0.isUntold } })
        else { return }
        var acknowledgement = CommandAcknowledgement(command: command.number, result: entry.result)
        acknowledgement.presentation = entry.presentation
        guard notifyService(.acknowledge(acknowledgement), on: entry.channel) else { return }
        state.withLock { state in
            // Where it has come again meanwhile, whoever asks now has not heard of it.
            for index in state.known.indices where state.known[index].command == command {
                state.known[index].told = entry.finishes
            }
        }
    }

    /// The service has said so.
    func refreshStatusChanged() {
        state.withLock(\.receiver)?.refreshStatusChanged()
    }

    /// Says that the app came to the front or left it.
    func report(_ newState: AppState) {
        state.withLock { $0.unreported = newState }
        queue.async { [self] in
            if newState == .background { handOver() }
            tell(newState)
        }
    }

    /// On ``queue``. Only what is still so.
    private func tell(_ newState: AppState) {
        let isSo = { [self] in state.withLock { $0.unreported == newState } }
        guard isSo(), notifyService(.report(ProcessStateChange(state: newState)), while: isSo) else { return }
        state.withLock { if $0.unreported == newState { $0.unreported = nil } }
    }

    /// The service can be reached (again).
    func serviceIsBack() {
        queue.async { [self] in
            let (untold, unreported) = state.withLock { ($0.known.filter(\.isUntold), $0.unreported) }
            for entry in untold { acknowledge(entry.command) }
            if let unreported { tell(unreported) }
        }
    }

    /// On ``queue``. Whether the service has heard it, or never will: what another service has asked for it asks for again.
    private func notifyService(
        _ endpoint: Endpoint<Void>, on channel: String? = nil, while isWanted: () -> Bool = { true }
    ) -> Bool {
        do {
            try state.withLock(\.connection)?.notify(
                endpoint, on: channel, patience: Self.patience, while: isWanted)
        } catch is ServiceUnreachable {
            return false
        } catch {
            // Refused, or meant for a channel that is gone.
        }
        return true
    }
}

extension SessionCore {
    /// Tells the delegate that it has everything; then calls `completion`, on the delegate queue too, with whether there was a
    /// delegate to hear it.
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

    /// Once for each session: which line lets its delegate hear that its events are finished.
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
            The delegate of the session "\(session)" is not told that its events are finished, and its wakes are completed without \
            it. If it has urlSessionDidFinishEvents(forBackgroundURLSession:), add this line: \
            extension \(name): URLSessionBackgroundDelegate {}
            """
    }
}
