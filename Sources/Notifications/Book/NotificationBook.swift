package import Device
import Foundation
package import NightshiftAPI
package import Store

/// Everything that is known of apps' notifications, and what becomes of each: pure.
///
/// Inputs go in; ``look(_:)`` decides; ``takeChanges()`` gives what one transaction writes, and ``takeEffects()`` what is done
/// behind it. Times are seconds since 1970.
package struct NotificationBook: Sendable {
    struct Item: Hashable, Sendable {
        var stored: StoredNotification
        var phase = Phase.waiting
        /// The state that was reported last.
        var state: AlertState?
    }

    /// How far one is that waits.
    enum Phase: Hashable, Sendable {
        case waiting
        /// The app is asked whether it is in front, and what it wants then.
        case presenting(Int64)
        /// It is to pop up, as soon as there is a server.
        case decided(Presentation)
        /// The server has it, and has not answered yet.
        case showing(Int64, Presentation)
        /// The server went away over it: another one is waited for.
        case stuck(Presentation)

        /// Whether the app's next one has to wait, so that they are shown in their order.
        var isUnderWay: Bool {
            switch self {
            case .presenting, .showing: true
            case .waiting, .decided, .stuck: false
            }
        }
    }

    var apps: [AppID: NotificationAppRecord] = [:]
    /// Those that wait and those that are shown, oldest first.
    var items: [Item] = []
    var questions: [Int64: NotificationQuestion] = [:]
    /// Apps for whose alerts the user was asked. A question that is waved away is not asked again before the next start.
    var asked: Set<AppID> = []
    var server: NotificationServer?
    var changes: [NotificationChange] = []
    var effects: [NotificationEffect] = []
    private var lastToken: Int64 = 0
    /// When what could not be written is tried again, where nothing happens before.
    private var again: Double?

    package init() {}

    /// Grows with everything that changes.
    package private(set) var revision = 0

    /// What is on disk, all of it, in the place of what was known. What is under way goes on.
    package mutating func load(_ kept: StoredNotifications<NotificationAppRecord>) {
        apps = kept.apps
        let before = items
        items = kept.notifications.map { stored in
            let known = before.first { $0.stored.key == stored.key }
            guard let known, known.stored.notification == stored.notification else { return Item(stored: stored) }
            return Item(stored: stored, phase: known.phase, state: known.state)
        }
        // The store keeps no more than so many. What is missing while there are fewer is not on the disk yet, or has been shown.
        let keys = Set(items.map(\.stored.key))
        for item in before where !keys.contains(item.stored.key) && isFull(item.stored.app) { dropped(item.stored) }
    }

    /// Whether as many of an app wait as are kept.
    private func isFull(_ app: AppID) -> Bool {
        items.count { $0.stored.app == app && $0.stored.state != .shown } >= Limits.notifications
    }

    /// One that waited has made room for others.
    private mutating func dropped(_ stored: StoredNotification) {
        guard stored.notification.isRemote, stored.state != .shown else { return }
        effects.append(
            .became(stored.app, stored.notification.identifier, .crowded, stored.notification.date))
    }

    package mutating func takeChanges() -> [NotificationChange] {
        defer { changes = [] }
        again = nil
        return changes
    }

    /// The transaction failed: what it was to write goes first in the next one, as it is by now. Others may have been written since.
    package mutating func notWritten(_ changes: [NotificationChange], now: Double) {
        self.changes = Array((changes.flatMap(asItIs) + self.changes).suffix(Self.mostChanges))
        again = now + Self.pauseAfterFailure
    }

    /// Seconds: the disk has to have changed.
    private static let pauseAfterFailure = 60.0

    private func asItIs(_ change: NotificationChange) -> [NotificationChange] {
        switch change {
        case .put(let stored): present(stored.key)
        case .due(let identifier, let app):
            present(StoredNotification.Key(app: app, identifier: identifier, isShown: false))
        case .forgetPlace(let identifier, let app):
            present(StoredNotification.Key(app: app, identifier: identifier, isShown: true))
        case .shown(let notification, let app, _, _):
            asItIs(.remove(StoredNotification.Key(app: app, identifier: notification.identifier, isShown: false)))
                + present(StoredNotification.Key(app: app, identifier: notification.identifier, isShown: true))
        case .remove(let key): index(key) == nil ? [change] : present(key)
        case .app(_, let app): apps[app].map { [.app($0, app)] } ?? []
        case .forget(let app):
            // Its like may have come since.
            [change] + asItIs(.app(NotificationAppRecord(), app))
                + items.filter { $0.stored.app == app }.map { .put($0.stored) }
        case .respond, .entry: [change]
        }
    }

    /// Nothing where it is gone: that is a change of its own.
    private func present(_ key: StoredNotification.Key) -> [NotificationChange] {
        index(key).map { [.put(items[$0].stored)] } ?? []
    }

    /// Whether anything is to be written: behind a step, that its transaction has failed.
    package var hasChanges: Bool { !changes.isEmpty }

    /// More than an ordinary trouble with the disk leaves behind.
    private static let mostChanges = 1_000

    package mutating func takeEffects() -> [NotificationEffect] {
        defer { effects = [] }
        return effects
    }

    /// When the next notification's time comes, or what could not be written is tried again.
    package func nextLook(after now: Double) -> Double? {
        let times = items.filter { $0.stored.state == .pending && !$0.phase.isUnderWay }.compactMap(\.stored.due)
        return (times + [again].compactMap(\.self)).filter { $0 > now }.min()
    }

    package func permission(of app: AppID) -> NotificationPermission { apps[app]?.permission ?? .ask }

    package var canShow: Bool { server != nil }

    mutating func newToken() -> Int64 {
        lastToken += 1
        return lastToken
    }

    mutating func change(_ change: NotificationChange) {
        changes.append(change)
        revision += 1
    }

    // MARK: - What is shown when

    /// Decides over everything whose time has come.
    package mutating func look(_ now: Double) {
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
                    // A badge alone: nothing is to be seen of it but that.
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
                    // The bus starts one that is installed when it is needed.
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
    }

    /// Behind a clock that was set back, what is to be shown some time after it was asked for waits for that time at most: else it
    /// would wait for as long as the clock was ahead, too.
    private mutating func followClock(_ now: Double) {
        for index in items.indices where items[index].stored.state == .pending {
            let stored = items[index].stored
            guard let due = stored.due, let delay = stored.delay, due > now + delay + Self.clockTolerance else {
                continue
            }
            items[index].stored.due = now + delay
            change(.put(items[index].stored))
        }
    }

    /// Seconds by which time servers correct a clock that goes well: no reason to write.
    private static let clockTolerance = 1.0

    /// Its time has come, and it waits for something else than that.
    ///
    /// - Returns: whether that is new.
    private mutating func becomesDue(at index: Int) -> Bool {
        guard items[index].stored.state == .pending else { return false }
        items[index].stored.state = .due
        change(.due(items[index].stored.notification.identifier, items[index].stored.app))
        return true
    }

    /// Nothing of its app is shown. What a provider has sent is kept until the user has said whether it is, and asks for that.
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

    /// Says how far a notification is on its way. Of an app's own only that it is shown.
    mutating func report(_ state: AlertState, at index: Int, _ now: Double) {
        let (app, notification) = (items[index].stored.app, items[index].stored.notification)
        guard items[index].state != state, notification.isRemote || state == .shown else { return }
        items[index].state = state
        effects.append(.became(app, notification.identifier, state, Date(timeIntervalSince1970: now)))
        guard state != .shown, notification.isRemote else { return }
        note(.notificationNotShown, app, "\(notification.identifier): \(state.sentence(of: app))", now)
    }

    /// The app has answered, or is not in front.
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

    /// What was to be shown is of an app that is gone.
    package mutating func cannotShow(_ token: Int64, now: Double) {
        if let index = showing(token) { finish(at: index, now) }
        if let number = questions.first(where: { $0.value.phase == .showing(token) })?.key { answer(number, nil) }
    }

    /// What is sent to the server for a token; nil where it is not wanted any more.
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

    /// A notification with the actions of its category.
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

    // MARK: - The end of waiting

    /// It is in the list of what was delivered: shown at `place`, or without being shown.
    mutating func becameListed(
        at index: Int, _ state: AlertState, place: StoredNotification.Place? = nil, _ now: Double
    ) {
        report(state, at: index, now)
        let stored = items[index].stored
        var notification = complete(stored.notification, of: stored.app)
        notification.date = Date(timeIntervalSince1970: now)
        let next = reschedule(at: index, now)
        var shown = StoredNotification(app: stored.app, notification: notification, state: .shown)
        if let old = self.index(shown.key) {
            // A server that did not put the new one in its place still has the old one.
            if let before = items[old].stored.place, before != place { close(before) }
            items.remove(at: old)
        }
        shown.place = place
        items.append(Item(stored: shown))
        change(.shown(notification, stored.app, place, next: next))
        if state == .shown { note(.notificationShown, stored.app, notification.identifier, now) }
        prune(stored.app, isShown: true)
    }

    /// It waits no longer, and is not shown.
    mutating func finish(at index: Int, _ now: Double) {
        let stored = items[index].stored
        if let next = reschedule(at: index, now) {
            var later = stored
            (later.state, later.due) = (.pending, next)
            change(.put(later))
        } else {
            change(.remove(stored.key))
        }
    }

    /// Takes one that waited out of the list, or gives it its next time where it repeats.
    private mutating func reschedule(at index: Int, _ now: Double) -> Double? {
        let stored = items[index].stored
        guard stored.repeats, let delay = stored.delay, delay > 0 else {
            items.remove(at: index)
            return nil
        }
        // Times that nobody was there for are not made up for.
        let planned = (stored.due ?? now) + delay
        let next = planned > now ? planned : now + delay
        items[index].stored.state = .pending
        items[index].stored.due = next
        items[index].phase = .waiting
        items[index].state = nil
        return next
    }

    /// Forgets the oldest where there are too many, as the store does.
    mutating func prune(_ app: AppID, isShown: Bool) {
        let keys = items.map(\.stored.key).filter { $0.app == app && $0.isShown == isShown }
        for key in keys.dropLast(Limits.notifications) {
            guard let index = index(key) else { continue }
            if let place = items[index].stored.place { close(place) }
            dropped(items.remove(at: index).stored)
        }
    }

    /// Has one taken away that a server shows, if that is still there.
    mutating func close(_ place: StoredNotification.Place) {
        if place.server == server?.identity { effects.append(.close(place)) }
    }

    mutating func note(_ decision: Decision, _ app: AppID, _ detail: String?, _ now: Double) {
        change(
            .entry(
                JournalEntry(
                    time: Date(timeIntervalSince1970: now), decision: decision, app: app,
                    detail: detail.map(NotificationText.line))))
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
    /// Whether there is something to read.
    var hasText: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }

    /// As a server is to show it, without what is known of the app.
    func draft(of app: AppID, name: String, for server: NotificationServer) -> DesktopNotification {
        let lines = [subtitle, body].filter { !$0.isEmpty }
        // Without a title of its own it is the app's; the title is never markup.
        let heading = NotificationText.line(title.isEmpty ? name : title)
        let text = NotificationText.body(lines.joined(separator: "\n"))
        var draft = DesktopNotification(
            appName: NotificationText.line(name), entry: app.rawValue, title: heading,
            body: server.readsMarkup ? NotificationText.escaped(text) : text)
        draft.urgency =
            switch level {
            case .passive: .low
            case .active: .normal
            // Nothing else is shown while its user does not want to be disturbed.
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

    /// An app's own identifiers may be those of the specification.
    private static func key(_ index: Int) -> String { "action-\(index)" }

    /// What the choice of a key means; nil for a key that was not offered.
    func choice(_ key: String) -> (action: String, isForeground: Bool)? {
        if key == "default" { return (NotificationResponse.opened, true) }
        return actions.enumerated().first { Self.key($0.offset) == key }.map {
            ($0.element.identifier, $0.element.isForeground)
        }
    }
}
