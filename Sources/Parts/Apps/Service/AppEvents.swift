package import NightshiftAPI
package import Runtime
import Synchronization

/// The events of all apps, and the parts of the service that receive them.
///
/// Every part receives every event, one after the other, in the order of the decisions that caused them. The app service
/// continues meanwhile. When it stops, the remaining events are dropped. At the next start, it publishes again which
/// apps are force-quit and which are in the foreground.
package final class AppEvents: Sendable {
    private struct Subscriber {
        var receive: @Sendable (AppEvent, AppID) async -> Void
        var notices: @Sendable (AppID) async -> [ProcessEvent]
    }

    private struct State {
        var subscribers: [Subscriber] = []
        /// The callers that wait until an event was handled, by its number.
        var waiters: [Int: [CheckedContinuation<Void, Never>]] = [:]
        /// The numbers of the last event that was published, and of the last one that all parts have handled.
        var last = 0
        var handled = 0
        var isStopped = false

        var isWaitNeeded: Bool { !isStopped && handled < last }
    }

    private typealias Entry = (number: Int, event: AppEvent, app: AppID)

    private let state = Mutex(State())
    private let entries: AsyncStream<Entry>
    private let continuation: AsyncStream<Entry>.Continuation

    init() {
        (entries, continuation) = AsyncStream.makeStream()
    }

    /// Adds a part. Parts must subscribe before the apps run.
    ///
    /// - Parameters:
    ///   - notices: returns the part's notices for a connecting process of the app, at most one of each kind. The part
    ///     sends later changes with ``AppService/tell(_:_:)``.
    ///   - receive: handles an event.
    package func subscribe(
        notices: @escaping @Sendable (AppID) async -> [ProcessEvent] = { _ in [] },
        receive: @escaping @Sendable (AppEvent, AppID) async -> Void
    ) {
        state.withLock { $0.subscribers.append(Subscriber(receive: receive, notices: notices)) }
    }

    func publish(_ event: AppEvent, of app: AppID) { state.withLock { add(event, app, &$0) } }

    /// Publishes events, and returns when all parts have handled them. Callers can then ask the parts about the app.
    /// When the service stops, this returns immediately.
    func publishAndWait(_ events: [AppEvent], of app: AppID) async {
        state.withLock { state in
            for event in events { add(event, app, &state) }
        }
        await handled()
    }

    /// Returns when all parts have handled the events published so far. When the service stops, this returns
    /// immediately.
    package func handled() async {
        guard state.withLock(\.isWaitNeeded) else { return }
        await withCheckedContinuation { waiter in
            let waits = state.withLock { state in
                if state.isWaitNeeded { state.waiters[state.last, default: []].append(waiter) }
                return state.isWaitNeeded
            }
            if !waits { waiter.resume() }
        }
    }

    private func add(_ event: AppEvent, _ app: AppID, _ state: inout State) {
        state.last += 1
        continuation.yield((state.last, event, app))
    }

    /// Delivers the events until the task is cancelled. Callers must call this once.
    func run() async {
        for await entry in entries where !Task.isCancelled {
            for subscriber in state.withLock(\.subscribers) { await subscriber.receive(entry.event, entry.app) }
            let waiters = state.withLock { state in
                state.handled = entry.number
                return state.waiters.removeValue(forKey: entry.number) ?? []
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// Resumes all callers that wait.
    func stop() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.isStopped = true
            return state.waiters
        }
        for waiter in waiters.values.joined() { waiter.resume() }
    }

    /// Returns the notices of all parts for a connecting process of the app.
    func notices(for app: AppID) async -> [ProcessEvent] {
        var notices: [ProcessEvent] = []
        for subscriber in state.withLock(\.subscribers) { notices += await subscriber.notices(app) }
        return notices
    }
}
