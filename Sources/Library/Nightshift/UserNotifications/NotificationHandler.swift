import Executors
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// An object that sends changes of the app's own notifications to the service, in the order of the calls, and reads
/// notifications from the service.
///
/// Changes that cannot be sent are kept until the service can be reached again.
final class NotificationHandler: Sendable {
    typealias Completion = @Sendable (UNError?) -> Void

    /// A change that the app has requested.
    enum Change: Sendable {
        /// The addition of a notification.
        ///
        /// - Parameter interval: The time in seconds between the request and the notification. Nil means immediately.
        case add(AppNotification, interval: Double?, repeats: Bool)
        /// The removal of notifications of one kind.
        ///
        /// - Parameter identifiers: The identifiers to remove. Nil means all.
        case remove(Kind, identifiers: Set<String>?)
        case setCategories(NotificationCategories)
        case setBadge(Int)
    }

    enum Kind: Sendable {
        case pending
        case delivered
    }

    private let queue = WorkQueue()
    /// The queue for requests that wait for the user. It is a separate queue, so that other requests do not wait for
    /// the user too.
    private let questions = WorkQueue()
    private let state = Mutex(State())

    private struct State {
        weak var connection: ServiceConnection?
        var unsent: [Unsent] = []
        var lastNumber = 0
        var categories: Set<UNNotificationCategory> = []
        var badge = 0
    }

    private struct Unsent: Sendable {
        var number: Int
        var change: Change
        /// The time at which the app requested the change.
        var date: ContinuousClock.Instant
        var completions: [Completion]
    }

    /// The time for which a change is retried if the service is running but temporarily refuses it. After that, the
    /// change waits for the next channel.
    private static let changeTimeout: Duration = .seconds(30)
    private static let readTimeout: Duration = .seconds(2)
    /// The time for which one request waits for the user's answer before it is repeated.
    private static let questionTimeout: Duration = .seconds(600)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Changes

    /// Requests a change.
    ///
    /// - Parameter completion: A closure that is called once, on any thread, when the service has accepted or refused
    ///   the change.
    func make(_ change: Change, completion: @escaping Completion = { _ in }) {
        state.withLock { state in
            state.lastNumber += 1
            // The later change replaces these earlier ones, so that the number of unsent changes does not grow while
            // the service cannot be reached.
            let superseded = state.unsent.filter { $0.change.isSuperseded(by: change) }
            state.unsent.removeAll { $0.change.isSuperseded(by: change) }
            state.unsent.append(
                Unsent(
                    number: state.lastNumber, change: change, date: .now,
                    completions: superseded.flatMap(\.completions) + [completion]))
        }
        queue.add { [self] in
            state.withLock(\.connection)?.wake()
            try? send()
        }
    }

    func setBadge(_ count: Int, completion: @escaping Completion) {
        state.withLock { $0.badge = count }
        make(.setBadge(count), completion: completion)
    }

    /// The badge that this process has set last.
    var badge: Int { state.withLock(\.badge) }

    func setCategories(_ categories: Set<UNNotificationCategory>) {
        state.withLock { $0.categories = categories }
        let sorted = categories.map(\.category).sorted { $0.identifier < $1.identifier }
        make(.setCategories(NotificationCategories(categories: sorted)))
    }

    /// The categories that this process has set last.
    var categories: Set<UNNotificationCategory> { state.withLock(\.categories) }

    /// Sends the unsent changes when the service can be reached, for the first time or again.
    func onReconnect() {
        guard state.withLock({ !$0.unsent.isEmpty }) else { return }
        queue.add { [self] in try? send() }
    }

    /// Sends the unsent changes. Runs on ``queue``.
    ///
    /// - Throws: ``ServiceUnreachable`` if not all changes could be sent.
    private func send() throws {
        while let (connection, next) = state.withLock({ state in
            state.connection.flatMap { connection in state.unsent.first.map { (connection, $0) } }
        }) {
            var failure: UNError?
            do {
                try send(next, on: connection)
            } catch let problem as Problem {
                failure = UNError(problem)
            } catch let failure as ServiceUnreachable {
                throw failure
            } catch {
                failure = UNError(.notificationsNotAllowed, "The app is terminating.")
            }
            // If a later change superseded this one meanwhile, the completions of this change are called with the later
            // one.
            let sent = state.withLock { state in
                defer { state.unsent.removeAll { $0.number == next.number } }
                return state.unsent.first { $0.number == next.number }
            }
            for completion in sent?.completions ?? [] { completion(failure) }
        }
    }

    private func send(_ unsent: Unsent, on connection: ServiceConnection) throws {
        switch unsent.change {
        case .add(let notification, let interval, let repeats):
            let waited = (ContinuousClock.now - unsent.date).components
            let seconds = Double(waited.seconds) + Double(waited.attoseconds) / 1e18
            // The first interval of a repeating notification begins when the service receives the request.
            let left = repeats ? interval : interval.map { $0 - seconds }
            // JSON cannot represent infinity, and the service refuses longer delays.
            let delay = left.flatMap { $0 > 0 ? min($0, Limits.longestTimeout) : nil }
            try notify(
                .add(NotificationRequest(notification: notification, delay: delay, repeats: repeats)), on: connection)
        case .remove(let kind, let identifiers):
            try remove(kind, identifiers, on: connection)
        case .setCategories(let categories): try notify(.setCategories(categories), on: connection)
        case .setBadge(let count): try notify(.setBadge(BadgeChange(count: count)), on: connection)
        }
    }

    private func notify(_ endpoint: Endpoint<Void>, on connection: ServiceConnection) throws {
        try connection.notify(endpoint, hasty: true, timeout: Self.changeTimeout)
    }

    /// Removes pending or delivered notifications. For each identifier, the service removes both the pending and the
    /// delivered notification. A repeating notification that is both is therefore removed only by a call for pending
    /// notifications.
    private func remove(_ kind: Kind, _ identifiers: Set<String>?, on connection: ServiceConnection) throws {
        let known = try connection.request(.notifications, hasty: true, timeout: Self.changeTimeout)
        let pending = Set(known.pending.map(\.notification.identifier))
        let found =
            switch kind {
            case .pending: pending
            case .delivered: Set(known.delivered.map(\.identifier)).subtracting(pending)
            }
        for identifier in found.sorted() where identifiers?.contains(identifier) ?? true {
            do {
                try notify(.removeNotification(identifier), on: connection)
            } catch is Problem {
                // The notification no longer exists, so nothing has to be removed.
            }
        }
    }

    // MARK: - Reading

    /// Reads the app's notifications from the service, after every change has been sent.
    ///
    /// - Parameter completion: A closure that is called on any thread with the notifications. It gets nil if the
    ///   service cannot be reached.
    func read(_ completion: @escaping @Sendable (ProcessNotifications?) -> Void) {
        queue.add { [self] in
            guard let connection = state.withLock(\.connection) else { return completion(nil) }
            completion(
                connection.patiently {
                    try send()
                    return try connection.request(.notifications, hasty: true, timeout: Self.readTimeout)
                })
        }
    }

    /// Asks the user whether the app may show notifications.
    ///
    /// - Parameter completion: A closure that is called on any thread when the user has decided, however long that
    ///   takes.
    func requestAuthorization(
        isProvisional: Bool, completion: @escaping @Sendable (Bool, UNError?) -> Void
    ) {
        questions.add { [self] in
            guard let connection = state.withLock(\.connection) else {
                return completion(false, UNError(.notificationsNotAllowed, "The app is terminating."))
            }
            connection.wake()
            while true {
                do {
                    let request = NotificationAuthorizationRequest(isProvisional: isProvisional)
                    let answer = try connection.request(
                        .requestAuthorization(request), timeout: Self.questionTimeout)
                    return completion(answer.permission == .allowed || answer.permission == .provisional, nil)
                } catch let problem as Problem {
                    return completion(false, UNError(problem))
                } catch is ServiceUnreachable {
                    continue
                } catch {
                    return completion(false, UNError(.notificationsNotAllowed, "The app is terminating."))
                }
            }
        }
    }
}

extension NotificationHandler.Change {
    /// Returns whether `later` makes this change unnecessary.
    fileprivate func isSuperseded(by later: Self) -> Bool {
        switch (self, later) {
        case (.setCategories, .setCategories), (.setBadge, .setBadge): true
        default: false
        }
    }
}
