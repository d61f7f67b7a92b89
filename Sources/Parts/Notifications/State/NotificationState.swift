package import Device
import Foundation
package import NightshiftAPI
package import Runtime
package import Store

/// The state of apps' notifications and the decisions about them, as a pure value.
///
/// ``decide(at:)`` makes decisions based on the inputs. ``changes(since:)`` returns what a transaction has to write, and
/// ``takeEffects()`` returns the effects to execute after that transaction. Times are seconds since 1970.
package struct NotificationState: PartState {
    struct Item: Hashable, Sendable {
        var stored: StoredNotification
        var phase = Phase.waiting
        /// The state that was last reported.
        var state: AlertState?
    }

    /// The progress of a waiting notification.
    enum Phase: Hashable, Sendable {
        case waiting
        /// The app is being asked whether it is in the foreground, and if so, how to present the notification.
        case presenting(Int64)
        /// The presentation is decided. The notification is shown as soon as there is a server.
        case decided(Presentation)
        /// The notification was sent to the server, which has not answered yet.
        case showing(Int64, Presentation)
        /// The server disappeared while the notification was being shown. The notification waits for another server.
        case stuck(Presentation)

        /// Whether the app's next notification must wait for this one, so that they are shown in order.
        var isUnderWay: Bool {
            switch self {
            case .presenting, .showing: true
            case .waiting, .decided, .stuck: false
            }
        }
    }

    var apps: [AppID: NotificationAppRecord] = [:]
    /// The waiting and the shown notifications, oldest first.
    var items: [Item] = []
    var questions: [Int64: NotificationQuestion] = [:]
    /// The apps for whose alerts the user was asked for permission. If the user closes the question, it is not asked
    /// again before the next start of the service.
    var asked: Set<AppID> = []
    var server: NotificationServer?
    var outbox = Outbox<Output>()
    var journal = Outbox<JournalEntry>()
    var effects: [NotificationEffect] = []
    private var lastToken: Int64 = 0

    package init() {}

    /// Replaces the state with the complete stored state. The progress of known notifications is kept.
    package mutating func load(_ kept: StoredNotifications<NotificationAppRecord>) {
        apps = kept.apps
        let before = items
        items = kept.notifications.map { stored in
            let known = before.first { $0.stored.key == stored.key }
            guard let known, known.stored.notification == stored.notification else { return Item(stored: stored) }
            return Item(stored: stored, phase: known.phase, state: known.state)
        }
        // The store limits the number of waiting notifications per app. If an app has reached the limit, a missing
        // notification was dropped. Otherwise it is not on disk yet, or was shown.
        let keys = Set(items.map(\.stored.key))
        for item in before where !keys.contains(item.stored.key) && isFull(item.stored.app) { dropped(item.stored) }
    }

    /// Returns whether an app has the maximum number of waiting notifications.
    private func isFull(_ app: AppID) -> Bool {
        items.count { $0.stored.app == app && $0.stored.state != .shown } >= Limits.notifications
    }

    /// Reports that a waiting notification was dropped to make room for others.
    private mutating func dropped(_ stored: StoredNotification) {
        guard stored.notification.isRemote, stored.state != .shown else { return }
        effects.append(
            .became(stored.app, stored.notification.identifier, .crowded, stored.notification.date))
    }

    package mutating func takeEffects() -> [NotificationEffect] {
        defer { effects = [] }
        return effects
    }

    /// The time of the next due notification.
    package private(set) var nextDeadline: Double?

    package var nextDecision: DecisionTime? { nextDeadline.map { .wallSeconds($0) } }

    package func permission(of app: AppID) -> NotificationPermission { apps[app]?.permission ?? .ask }

    package var canShow: Bool { server != nil }

    mutating func newToken() -> Int64 {
        lastToken += 1
        return lastToken
    }

    // MARK: - Showing

    /// Decides what happens with every notification that is due.
    package mutating func decide(at now: Double) {
        followClock(now)
        var busy = Set(items.filter { $0.phase.isUnderWay }.map(\.stored.app))
        for key in items.filter({ $0.stored.isDue(now) }).map(\.stored.key) {
            guard let index = index(key) else { continue }
            let (app, notification) = (items[index].stored.app, items[index].stored.notification)
            guard permission(of: app).shows else {
                withhold(at: index, now)
                continue
            }
            switch items[index].phase {
            case .waiting where !busy.contains(app):
                guard notification.hasText else {
                    // The notification has only a badge, so nothing else is shown.
                    if let badge = notification.badge { show(badge: badge, of: app) }
                    report(notification.badge == nil ? .noText : .badge, at: index, now)
                    finish(at: index, now)
                    continue
                }
                let token = newToken()
                items[index].phase = .presenting(token)
                busy.insert(app)
                effects.append(.present(token: token, app, notification))
            case .decided(let presentation):
                guard server != nil else {
                    report(.server, at: index, now)
                    // If a server is installed, the bus can start it now.
                    if becomesDue(at: index) { effects.append(.startServer) }
                    continue
                }
                guard !busy.contains(app) else { continue }
                let token = newToken()
                items[index].phase = .showing(token, presentation)
                busy.insert(app)
                effects.append(.show(token: token, app))
            case .waiting, .presenting, .showing, .stuck: continue
            }
        }
        lookAtQuestions()
        nextDeadline = items.filter { $0.stored.state == .pending && !$0.phase.isUnderWay }.compactMap(\.stored.due)
            .filter { $0 > now }.min()
    }

    /// Limits the remaining delay of notifications to their original delay after the clock was set back. Otherwise, the
    /// delay would be extended by the difference.
    private mutating func followClock(_ now: Double) {
        for index in items.indices where items[index].stored.state == .pending {
            let stored = items[index].stored
            guard let due = stored.due, let delay = stored.delay, due > now + delay + Self.clockTolerance else {
                continue
            }
            items[index].stored.due = now + delay
        }
    }

    /// The tolerance in seconds for corrections of the clock by time servers. Smaller corrections are not written.
    private static let clockTolerance = 1.0

    /// Marks a notification as due.
    ///
    /// - Returns: whether it was not due before.
    private mutating func becomesDue(at index: Int) -> Bool {
        guard items[index].stored.state == .pending else { return false }
        items[index].stored.state = .due
        return true
    }

    /// Handles a due notification of an app without permission. If the user has not decided yet, a notification of a
    /// provider is kept, and the user is asked.
    private mutating func withhold(at index: Int, _ now: Double) {
        let (app, notification) = (items[index].stored.app, items[index].stored.notification)
        let hasEffect = notification.hasText || notification.badge != nil
        guard permission(of: app) == .ask, notification.isRemote, hasEffect else {
            report(hasEffect ? .denied : .noText, at: index, now)
            return finish(at: index, now)
        }
        items[index].phase = .waiting
        _ = becomesDue(at: index)
        report(.permission, at: index, now)
        if asked.insert(app).inserted { effects.append(.askPermission(app)) }
    }

    /// Reports the state of a notification. For local notifications, only the shown state is reported.
    mutating func report(_ state: AlertState, at index: Int, _ now: Double) {
        let (app, notification) = (items[index].stored.app, items[index].stored.notification)
        guard items[index].state != state, notification.isRemote || state == .shown else { return }
        items[index].state = state
        effects.append(.became(app, notification.identifier, state, Date(timeIntervalSince1970: now)))
        guard state != .shown, notification.isRemote else { return }
        note(.notificationNotShown, app, "\(notification.identifier): \(state.sentence(of: app))", now)
    }

    /// Handles the app's answer to the question how to present a notification. For an app that is not in the
    /// foreground, this is a default answer.
    package mutating func presented(_ token: Int64, _ answer: PresentationAnswer, now: Double) {
        guard let index = items.firstIndex(where: { $0.phase == .presenting(token) }) else { return }
        let presentation = Presentation(answer)
        let (app, notification) = (items[index].stored.app, items[index].stored.notification)
        if presentation.badges, let badge = notification.badge { show(badge: badge, of: app) }
        if presentation.pops {
            items[index].phase = .decided(presentation)
        } else if presentation.lists {
            becameListed(at: index, .inApp, now)
        } else {
            report(.inApp, at: index, now)
            finish(at: index, now)
        }
    }

    /// Ends a notification or a question whose app was removed.
    package mutating func cannotShow(_ token: Int64, now: Double) {
        if let index = showing(token) { finish(at: index, now) }
        if let number = questions.first(where: { $0.value.phase == .showing(token) })?.key { answer(number, nil) }
    }

    /// Returns the notification in the form for the server; nil if it is no longer needed.
    package func draft(of token: Int64, name: String, icon: String?) -> DesktopNotification? {
        guard let server else { return nil }
        if let question = questions.values.first(where: { $0.phase == .showing(token) }) {
            return question.draft(name: name, icon: icon, for: server)
        }
        guard let index = showing(token), case .showing(_, let presentation) = items[index].phase else { return nil }
        let stored = items[index].stored
        var draft = complete(stored.notification, of: stored.app).draft(of: stored.app, name: name, for: server)
        draft.icon = icon.map(NotificationText.line) ?? ""
        let isQuiet = permission(of: stored.app) == .provisional
        if isQuiet { draft.urgency = .low }
        if isQuiet || !presentation.sounds { draft.sound = nil }
        let shownKey = StoredNotification.Key(
            app: stored.app, identifier: stored.notification.identifier, isShown: true)
        if let place = self.index(shownKey).flatMap({ items[$0].stored.place }), place.server == server.identity {
            draft.replaces = place.number
        }
        return draft
    }

    /// Returns a copy of a notification that has the actions of its category.
    func complete(_ notification: AppNotification, of app: AppID) -> AppNotification {
        var notification = notification
        if notification.actions.isEmpty { notification.actions = category(of: notification, app)?.actions ?? [] }
        notification.actions = Array(notification.actions.prefix(Limits.notificationActions))
        return notification
    }

    func category(of notification: AppNotification, _ app: AppID) -> NotificationCategories.Category? {
        guard !notification.category.isEmpty else { return nil }
        return apps[app]?.categories.first { $0.identifier == notification.category }
    }

    func index(_ key: StoredNotification.Key) -> Int? { items.firstIndex { $0.stored.key == key } }

    func showing(_ token: Int64) -> Int? {
        items.firstIndex {
            if case .showing(token, _) = $0.phase { true } else { false }
        }
    }

    // MARK: - End of waiting

    /// Moves a notification to the list of delivered ones. The server shows it at `place`. If `place` is nil, it is
    /// delivered without being shown.
    mutating func becameListed(
        at index: Int, _ state: AlertState, place: StoredNotification.Place? = nil, _ now: Double
    ) {
        report(state, at: index, now)
        let stored = items[index].stored
        var notification = complete(stored.notification, of: stored.app)
        notification.date = Date(timeIntervalSince1970: now)
        finish(at: index, now)
        var shown = StoredNotification(app: stored.app, notification: notification, state: .shown)
        if let old = self.index(shown.key) {
            // If the server did not replace the old notification, it still shows it.
            if let before = items[old].stored.place, before != place { close(before) }
            items.remove(at: old)
        }
        shown.place = place
        items.append(Item(stored: shown))
        if state == .shown { note(.notificationShown, stored.app, notification.identifier, now) }
        prune(stored.app, isShown: true)
    }

    /// Removes a waiting notification from the list. If it repeats, it gets its next time instead.
    mutating func finish(at index: Int, _ now: Double) {
        let stored = items[index].stored
        guard stored.repeats, let delay = stored.delay, delay > 0 else {
            items.remove(at: index)
            return
        }
        // Times that were missed are skipped.
        let planned = (stored.due ?? now) + delay
        items[index].stored.state = .pending
        items[index].stored.due = planned > now ? planned : now + delay
        items[index].phase = .waiting
        items[index].state = nil
    }

    /// Removes an app's oldest notifications beyond the limit, as the store does.
    mutating func prune(_ app: AppID, isShown: Bool) {
        let keys = items.map(\.stored.key).filter { $0.app == app && $0.isShown == isShown }
        for key in keys.dropLast(Limits.notifications) {
            guard let index = index(key) else { continue }
            if let place = items[index].stored.place { close(place) }
            dropped(items.remove(at: index).stored)
        }
    }

    /// Closes a notification, if the current server shows it.
    mutating func close(_ place: StoredNotification.Place) {
        if place.server == server?.identity { effects.append(.close(place)) }
    }

    mutating func note(_ decision: Decision, _ app: AppID, _ detail: String?, _ now: Double) {
        journal.note(
            JournalEntry(
                time: Date(timeIntervalSince1970: now), decision: decision, app: app,
                detail: detail.map(NotificationText.line)))
    }
}

extension StoredNotification {
    func isDue(_ now: Double) -> Bool {
        switch state {
        case .pending: due.map { $0 <= now } ?? false
        case .due: true
        case .shown: false
        }
    }
}

extension AppNotification {
    /// Whether the notification has a visible text.
    var hasText: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }

    /// Returns the notification in the form for the server, without data that depends on the app.
    func draft(of app: AppID, name: String, for server: NotificationServer) -> DesktopNotification {
        let lines = [subtitle, body].filter { !$0.isEmpty }
        // A notification without a title gets the app's name. The title never contains markup.
        let heading = NotificationText.line(title.isEmpty ? name : title)
        let text = NotificationText.body(lines.joined(separator: "\n"))
        var draft = DesktopNotification(
            appName: NotificationText.line(name), entry: app.rawValue, title: heading,
            body: server.readsMarkup ? NotificationText.escaped(text) : text)
        draft.urgency =
            switch level {
            case .passive: .low
            case .active: .normal
            // Do Not Disturb hides notifications of lower urgency.
            case .timeSensitive, .critical: .critical
            }
        draft.category = NotificationText.category(category)
        draft.sound = sound.map(NotificationText.sound)
        if server.hasActions {
            draft.actions = [DesktopNotification.Action(key: "default", title: "Open")]
            draft.actions += actions.enumerated().map {
                DesktopNotification.Action(key: Self.key($0.offset), title: NotificationText.line($0.element.title))
            }
        }
        return draft
    }

    /// Returns the key of an action. The service makes its own keys, because an app's identifiers could collide with
    /// the reserved keys of the specification.
    private static func key(_ index: Int) -> String { "action-\(index)" }

    /// Returns the action with this key; nil if the notification offers no such key.
    func choice(_ key: String) -> (action: String, isForeground: Bool)? {
        if key == "default" { return (NotificationResponse.opened, true) }
        return actions.enumerated().first { Self.key($0.offset) == key }.map {
            ($0.element.identifier, $0.element.isForeground)
        }
    }
}
