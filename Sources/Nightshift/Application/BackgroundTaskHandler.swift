import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Begins and ends background tasks with the service, and keeps the clock that says how much time there is.
///
/// A task begins with the service's answer: from then on the process is not suspended. Its end is told behind the caller's
/// back, in the order of the calls.
final class BackgroundTaskHandler: Sendable {
    private let queue = DispatchQueue(label: "nightshift.background-tasks")
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        var ledger = BackgroundTaskLedger()
        var clock: BackgroundClockFile?
        /// How many channels the service has opened: a task that was granted on one is not known on the next by itself.
        var channels = 0
        var isInBackground = false
        /// Whether the service did not answer the last time, and has not come back since: nobody waits for it meanwhile.
        var isUnreachable = false
        var refusal: String?
    }

    /// How long the beginning of a task waits for a service that does not answer.
    private static let patience: Duration = .seconds(2)
    /// Seconds that a service which answers may take for one task.
    private static let answerPatience = 2.0
    private static let endPatience: Duration = .seconds(30)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// The app came to the front or left it.
    func appIs(inBackground: Bool) {
        state.withLock { $0.isInBackground = inBackground }
    }

    /// Why the last task that was refused was refused.
    var refusal: String? { state.withLock(\.refusal) }

    /// Seconds; infinite without a limit.
    ///
    /// Asks nobody. Only in a process that begins in the background does the first call wait for the service's first words.
    var remaining: Double {
        let (clock, beginner) = state.withLock { state in
            (state.clock, state.channels == 0 && state.isInBackground && !state.isUnreachable ? state.connection : nil)
        }
        guard let beginner else { return clock?.remaining ?? .infinity }
        if (try? beginner.openChannel(until: .now + Self.patience)) == nil {
            state.withLock { $0.isUnreachable = $0.channels == 0 }
        }
        return state.withLock(\.clock)?.remaining ?? .infinity
    }

    // MARK: - Beginning and ending

    /// The number of a new task, or nil where there is no background time; waits for the service's answer.
    func begin(_ name: String, _ handler: BackgroundTaskLedger.Handler?) -> Int64? {
        let number = state.withLock { $0.ledger.add(name, handler) }
        let request = BackgroundTaskRequest(number: number, name: name)
        switch requestTask(request) {
        case .granted(let channel):
            // Granted by a service that is gone, and not told again to the one that is there.
            if open(number) != channel { tellLater(number) }
            state.withLock { $0.isUnreachable = false }
        case .refused(let reason):
            refuse(number, reason, mayBeKnown: false)
            return nil
        case .unanswered(let reason):
            let isInBackground = state.withLock { state in
                state.isUnreachable = true
                return state.isInBackground
            }
            // Without a service nobody suspends an app that is seen; it hears of the task when it answers. In the background it
            // would find the app at work without its leave.
            guard !isInBackground else {
                refuse(number, reason, mayBeKnown: true)
                return nil
            }
            _ = open(number)
            tellLater(number)
        }
        return number
    }

    private enum Answer {
        /// On the channel of this number.
        case granted(Int)
        case refused(String)
        case unanswered(String)
    }

    private func requestTask(_ request: BackgroundTaskRequest) -> Answer {
        let (connection, isUnreachable) = state.withLock { ($0.connection, $0.isUnreachable) }
        guard let connection else { return .refused("The app is ending.") }
        let patience = isUnreachable ? .zero : Self.patience
        func send() throws -> Int {
            try connection.openChannel(until: .now + patience)
            let channel = state.withLock(\.channels)
            try connection.notify(
                .beginBackgroundTask(request), patience: patience, retries: { $0.isPassing && $0.status != 429 })
            return channel
        }
        do {
            do {
                return .granted(try send())
            } catch let problem as Problem where problem.status == 429 {
                // Tasks that have ended may stand in the way until the service has heard of it.
                let isTold = DispatchSemaphore(value: 0)
                queue.async { isTold.signal() }
                _ = isTold.wait(timeout: .now() + Self.answerPatience)
                return .granted(try send())
            }
        } catch let problem as Problem {
            return .refused(problem.detail ?? problem.title)
        } catch let failure as ServiceUnreachable {
            return .unanswered(failure.message)
        } catch {
            return .refused("The app is ending.")
        }
    }

    /// - Returns: the number of the channel whose service hears of the task by itself from now on.
    private func open(_ number: Int64) -> Int {
        let (isLate, channel) = state.withLock { ($0.ledger.open(number), $0.channels) }
        if isLate { callHandlers([number]) {} }
        return channel
    }

    private func refuse(_ number: Int64, _ reason: String, mayBeKnown: Bool) {
        let (isNews, handler) = state.withLock { state in
            defer { state.refusal = reason }
            return (state.refusal != reason, state.ledger.refuse(number, mayBeKnown: mayBeKnown))
        }
        if isNews { Notice.print("A background task was refused: \(reason)") }
        if mayBeKnown { tellLater() }
        withExtendedLifetime(handler) {}
    }

    /// Does nothing where there is no such task.
    func end(_ number: Int64) {
        let (isNews, handler) = state.withLock { $0.ledger.end(number) }
        if isNews { tellLater() }
        withExtendedLifetime(handler) {}
    }

    // MARK: - What the service is to hear

    /// The service can be reached (again).
    func serviceIsBack() {
        let hasNews = state.withLock { state in
            state.isUnreachable = false
            return state.ledger.news != nil
        }
        if hasNews { tellLater() }
    }

    private func tellLater(_ number: Int64) {
        state.withLock { $0.ledger.tellLater(number) }
        tellLater()
    }

    private func tellLater() {
        queue.async { [self] in tell() }
    }

    private func tell() {
        while let connection = state.withLock({ $0.ledger.news == nil ? nil : $0.connection }) {
            do {
                try connection.openChannel(until: .now + Self.endPatience)
                // Whoever opened it may have told everything.
                guard let news = state.withLock(\.ledger.news) else { return }
                try tell(news, connection)
            } catch {
                // Told when the service is back; or nobody is there to be told any more.
                return
            }
        }
    }

    /// - Throws: ``ServiceUnreachable``, or `CancellationError` where the connection is closed.
    private func tell(_ news: BackgroundTaskLedger.News, _ connection: ServiceConnection) throws {
        do {
            switch news {
            case .beginning(let request):
                try connection.notify(.beginBackgroundTask(request), patience: Self.endPatience)
            case .end(let number): try connection.notify(.endBackgroundTask(number), patience: Self.endPatience)
            }
        } catch is Problem {
            // The service knows of no such task, which is all that was wanted of an end.
            if case .beginning = news { callHandlers([news.number]) {} }
        }
        state.withLock { $0.ledger.told(news) }
    }

    // MARK: - The service has come back

    /// Takes the clock from the service's first words, and tells it of every open task; before anybody else asks it anything.
    ///
    /// - Returns: false where it did not answer.
    func channelOpened(_ connection: ServiceConnection, _ hello: ProcessHello) -> Bool {
        let clock = hello.clock.flatMap { BackgroundClockFile(path: $0) }
        if let path = hello.clock, clock == nil { Notice.print("The background time cannot be read from \(path).") }
        let requests = state.withLock { state in
            state.clock = clock
            state.channels += 1
            return state.ledger.requests
        }
        for request in requests where state.withLock({ $0.ledger.isOpen(request.number) }) {
            do {
                try connection.client.on(hello.channel).wait(
                    for: .beginBackgroundTask(request), within: Self.answerPatience)
                state.withLock { $0.ledger.told(.beginning(request)) }
            } catch let problem as Problem where problem.status != 503 && problem.type != Problem.notConnectedType {
                // It goes on without its time: what it can still do, its handler does.
                callHandlers([request.number]) {}
            } catch {
                return false
            }
        }
        return true
    }

    // MARK: - Time running out

    /// Calls the expiration handlers of all open tasks on the main thread, oldest first; then `done`.
    func expire(_ done: @escaping @Sendable () -> Void) {
        callHandlers(state.withLock { $0.ledger.expire() }, done)
    }

    private func callHandlers(_ numbers: [Int64], _ done: @escaping @Sendable () -> Void) {
        // Nothing to call on a main thread that may not be served at all.
        guard !numbers.isEmpty else { return done() }
        DispatchQueue.main.async { [self] in
            MainActor.assumeIsolated {
                // One after the other, as each may end further tasks.
                for number in numbers { state.withLock { $0.ledger.takeHandler(number) }?() }
            }
            done()
        }
    }
}
