import Dispatch
import Foundation
import NightshiftAPI
import NightshiftClient
import Synchronization

/// Tells the service of the app's own notifications in the order of the calls, and asks it what there is.
///
/// What cannot be told is kept until the service is back.
final class NotificationHandler: Sendable {
    typealias Completion = @Sendable (UNError?) -> Void

    /// Something that the app wants to be done.
    enum Change: Sendable {
        /// - Parameter interval: seconds from when it was asked for; nil for at once.
        case add(AppNotification, interval: Double?, repeats: Bool)
        /// - Parameter identifiers: nil for all.
        case remove(Kind, identifiers: Set<String>?)
        case setCategories(NotificationCategories)
        case setBadge(Int)
    }

    enum Kind: Sendable {
        case pending
        case delivered
    }

    private let queue = DispatchQueue(label: "nightshift.notifications")
    /// Waits for the app's user, and holds nothing else up.
    private let questions = DispatchQueue(label: "nightshift.notification-questions")
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
        /// When the app has asked for it.
        var date: ContinuousClock.Instant
        var completions: [Completion]
    }

    /// How long a service that is there may refuse for passing reasons before it is given time until its next
    /// channel.
    private static let changePatience: Duration = .seconds(30)
    private static let readPatience: Duration = .seconds(2)
    /// How long one question may wait for the app's user before it is asked again.
    private static let questionPatience: Duration = .seconds(600)

    func connect(to connection: ServiceConnection) {
        state.withLock { $0.connection = connection }
    }

    // MARK: - Changes

    /// - Parameter completion: called once, on any thread, when the service has it or has refused it.
    func make(_ change: Change, completion: @escaping Completion = { _ in }) {
        state.withLock { state in
            state.lastNumber += 1
            // Of these only the last counts, however long the service is away.
            let superseded = state.unsent.filter { $0.change.isSuperseded(by: change) }
            state.unsent.removeAll { $0.change.isSuperseded(by: change) }
            state.unsent.append(
                Unsent(
                    number: state.lastNumber, change: change, date: .now,
                    completions: superseded.flatMap(\.completions) + [completion]))
        }
        queue.async { [self] in
            state.withLock(\.connection)?.wake()
            try? send()
        }
    }

    func setBadge(_ count: Int, completion: @escaping Completion) {
        state.withLock { $0.badge = count }
        make(.setBadge(count), completion: completion)
    }

    /// As this process has set it last.
    var badge: Int { state.withLock(\.badge) }

    func setCategories(_ categories: Set<UNNotificationCategory>) {
        state.withLock { $0.categories = categories }
        let sorted = categories.map(\.category).sorted { $0.identifier < $1.identifier }
        make(.setCategories(NotificationCategories(categories: sorted)))
    }

    /// As this process has set them last.
    var categories: Set<UNNotificationCategory> { state.withLock(\.categories) }

    /// The service can be reached (again).
    func serviceIsBack() {
        guard state.withLock({ !$0.unsent.isEmpty }) else { return }
        queue.async { [self] in try? send() }
    }

    /// On ``queue``.
    ///
    /// - Throws: ``ServiceUnreachable`` where the service cannot be told of all of it.
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
                failure = UNError(.notificationsNotAllowed, "The app is ending.")
            }
            // Superseded meanwhile, its completions are called with the later one.
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
            // The first of those that repeat has its time from when it gets there.
            let left = repeats ? interval : interval.map { $0 - seconds }
            // JSON has no infinity, and the service refuses more.
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
        try connection.notify(endpoint, hasty: true, patience: Self.changePatience)
    }

    /// The service removes an identifier wherever it has it: what repeats, and is both shown and pending, is removed
    /// with the pending.
    private func remove(_ kind: Kind, _ identifiers: Set<String>?, on connection: ServiceConnection) throws {
        let known = try connection.request(.notifications, hasty: true, patience: Self.changePatience)
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
                // It is gone already, which is all that was wanted.
            }
        }
    }

    // MARK: - Questions

    /// - Parameter completion: called on any thread, with what the service has when it has heard of every change; with nil without a
    ///   service.
    func read(_ completion: @escaping @Sendable (ProcessNotifications?) -> Void) {
        queue.async { [self] in
            guard let connection = state.withLock(\.connection) else { return completion(nil) }
            completion(
                connection.patiently {
                    try send()
                    return try connection.request(.notifications, hasty: true, patience: Self.readPatience)
                })
        }
    }

    /// - Parameter completion: called on any thread when the user has decided, which may take as long as they like.
    func requestAuthorization(
        isProvisional: Bool, completion: @escaping @Sendable (Bool, UNError?) -> Void
    ) {
        questions.async { [self] in
            guard let connection = state.withLock(\.connection) else {
                return completion(false, UNError(.notificationsNotAllowed, "The app is ending."))
            }
            connection.wake()
            while true {
                do {
                    let request = NotificationAuthorizationRequest(isProvisional: isProvisional)
                    let answer = try connection.request(
                        .requestAuthorization(request), patience: Self.questionPatience)
                    return completion(answer.permission == .allowed || answer.permission == .provisional, nil)
                } catch let problem as Problem {
                    return completion(false, UNError(problem))
                } catch is ServiceUnreachable {
                    continue
                } catch {
                    return completion(false, UNError(.notificationsNotAllowed, "The app is ending."))
                }
            }
        }
    }
}

extension NotificationHandler.Change {
    /// Whether it need not be told once the later one is.
    fileprivate func isSuperseded(by later: Self) -> Bool {
        switch (self, later) {
        case (.setCategories, .setCategories), (.setBadge, .setBadge): true
        default: false
        }
    }
}
