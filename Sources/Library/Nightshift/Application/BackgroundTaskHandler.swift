import Dispatch
import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// An object that begins and ends background tasks with the service, and opens the clock file from which the remaining
/// time is read.
///
/// A task begins when the service's answer arrives. The service does not suspend the process after that answer. The end
/// of a task is reported asynchronously, in the order of the calls.
final class BackgroundTaskHandler: Sendable {
    private let queue = WorkQueue()
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        var ledger = BackgroundTaskLedger()
        var clock: BackgroundClockFile?
        /// The number of channels opened so far. A task that the service granted on one channel must be reported again
        /// on the next channel.
        var channels = 0
        var isInBackground = false
        /// Whether the service did not answer the last request and has not been reached since. While this is true,
        /// callers do not wait for an answer.
        var isUnreachable = false
        var refusal: String?
    }

    /// The longest time that a caller waits for the service's answer when it begins a task.
    private static let timeout: Duration = .seconds(2)
    /// The time limit in seconds for the service's answer about one task.
    private static let answerTimeout = 2.0
    private static let endTimeout: Duration = .seconds(30)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    /// Records that the app entered the foreground or the background.
    func appIs(inBackground: Bool) {
        state.withLock { $0.isInBackground = inBackground }
    }

    /// The reason for the last refusal of a task.
    var refusal: String? { state.withLock(\.refusal) }

    /// The remaining background time in seconds, or infinity if the time is not limited.
    ///
    /// Reading this property sends no request. The first read in a process that starts in the background waits until
    /// the channel to the service is open.
    var remaining: Double {
        let (clock, beginner) = state.withLock { state in
            (state.clock, state.channels == 0 && state.isInBackground && !state.isUnreachable ? state.connection : nil)
        }
        guard let beginner else { return clock?.remaining ?? .infinity }
        if (try? beginner.openChannel(until: .now + Self.timeout)) == nil {
            state.withLock { $0.isUnreachable = $0.channels == 0 }
        }
        return state.withLock(\.clock)?.remaining ?? .infinity
    }

    // MARK: - Beginning and ending

    /// Begins a task, and returns its number. Returns nil if the app has no background time. This method waits for the
    /// service's answer.
    func begin(_ name: String, _ handler: BackgroundTaskLedger.Handler?) -> Int64? {
        let number = state.withLock { $0.ledger.add(name, handler) }
        let request = BackgroundTaskRequest(number: number, name: name)
        switch requestTask(request) {
        case .granted(let channel):
            // The service granted the task on an earlier channel, and does not know the task on the current channel
            // yet.
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
            // While no service is running, an app in the foreground is not suspended. The task can therefore be granted
            // now and reported later. In the background, the task cannot be granted, because a restarted service would
            // find the app running without permission.
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
        /// A granted task, with the number of the channel on which the service granted it.
        case granted(Int)
        case refused(String)
        case unanswered(String)
    }

    private func requestTask(_ request: BackgroundTaskRequest) -> Answer {
        let (connection, isUnreachable) = state.withLock { ($0.connection, $0.isUnreachable) }
        guard let connection else { return .refused("The app is terminating.") }
        let timeout = isUnreachable ? .zero : Self.timeout
        func send() throws -> Int {
            try connection.openChannel(until: .now + timeout)
            let channel = state.withLock(\.channels)
            try connection.notify(
                .beginBackgroundTask(request), timeout: timeout, retries: { $0.isPassing && $0.status != 429 })
            return channel
        }
        do {
            do {
                return .granted(try send())
            } catch let problem as Problem where problem.status == 429 {
                // The service counts ended tasks towards the limit until their ends have been reported. Pending reports
                // are therefore sent before the request is repeated.
                let isTold = DispatchSemaphore(value: 0)
                queue.add { isTold.signal() }
                _ = isTold.wait(timeout: .now() + Self.answerTimeout)
                return .granted(try send())
            }
        } catch let problem as Problem {
            return .refused(problem.detail ?? problem.title)
        } catch let failure as ServiceUnreachable {
            return .unanswered(failure.message)
        } catch {
            return .refused("The app is terminating.")
        }
    }

    /// Marks a task as open, and calls its handler if the background time has already expired.
    ///
    /// - Returns: The number of the current channel. On each later channel, the task is reported automatically.
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

    /// Ends a task. This method does nothing if no such task is open.
    func end(_ number: Int64) {
        let (isNews, handler) = state.withLock { $0.ledger.end(number) }
        if isNews { tellLater() }
        withExtendedLifetime(handler) {}
    }

    // MARK: - Reports to the service

    /// Sends the pending reports when the service can be reached, for the first time or again.
    func onReconnect() {
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
        queue.add { [self] in tell() }
    }

    private func tell() {
        while let connection = state.withLock({ $0.ledger.news == nil ? nil : $0.connection }) {
            do {
                try connection.openChannel(until: .now + Self.endTimeout)
                // All reports may already have been sent when the channel was opened.
                guard let news = state.withLock(\.ledger.news) else { return }
                try tell(news, connection)
            } catch {
                // If the service cannot be reached, the report is sent after the next reconnection. If the connection
                // was closed, the report is never sent.
                return
            }
        }
    }

    /// Sends a report to the service.
    ///
    /// - Throws: ``ServiceUnreachable``, or `CancellationError` if the connection is closed.
    private func tell(_ news: BackgroundTaskLedger.News, _ connection: ServiceConnection) throws {
        do {
            switch news {
            case .beginning(let request):
                try connection.notify(.beginBackgroundTask(request), timeout: Self.endTimeout)
            case .end(let number): try connection.notify(.endBackgroundTask(number), timeout: Self.endTimeout)
            }
        } catch is Problem {
            // The service does not know the task. A report of the task's end counts as successful in this case.
            if case .beginning = news { callHandlers([news.number]) {} }
        }
        state.withLock { $0.ledger.told(news) }
    }

    // MARK: - Reconnection

    /// Opens the clock file that the service's greeting names, and reports every open task. This method runs before any
    /// other request on the channel.
    ///
    /// - Returns: False if the service did not answer.
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
                    for: .beginBackgroundTask(request), within: Self.answerTimeout)
                state.withLock { $0.ledger.told(.beginning(request)) }
            } catch let problem as Problem where problem.status != 503 && problem.type != Problem.notConnectedType {
                // The app continues without background time, so the handler is called to finish the work.
                callHandlers([request.number]) {}
            } catch {
                return false
            }
        }
        return true
    }

    // MARK: - Expiration

    /// Calls the expiration handlers of all open tasks on the main thread, oldest first, and then `done`.
    func expire(_ done: @escaping @Sendable () -> Void) {
        callHandlers(state.withLock { $0.ledger.expire() }, done)
    }

    private func callHandlers(_ numbers: [Int64], _ done: @escaping @Sendable () -> Void) {
        // Without handlers, the main queue is not used, because the program may not serve the main queue.
        guard !numbers.isEmpty else { return done() }
        DispatchQueue.main.async { [self] in
            MainActor.assumeIsolated {
                // The handlers are removed one at a time, because each handler may end further tasks.
                for number in numbers { state.withLock { $0.ledger.takeHandler(number) }?() }
            }
            done()
        }
    }
}
