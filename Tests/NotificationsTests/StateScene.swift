import Device
import Foundation
import NightshiftAPI
import Notifications
import Store

/// A notification state, the rows that its changes produce, and a working notification server.
struct StateScene {
    static let app = AppID(rawValue: "org.example.app")
    static let all = NotificationServer(identity: "bus/:1.5", capabilities: ["actions", "body", "body-markup"])

    var book = NotificationState()
    /// The state that the disk contains.
    private var durable = NotificationState()
    var rows: [StoredNotification] = []
    var records: [AppID: NotificationAppRecord] = [:]
    var responses: [NotificationResponse] = []
    var entries: [JournalEntry] = []
    var now = 1_800_000_000.0
    /// The effects, except for those that the scene executes itself.
    var effects: [NotificationEffect] = []
    /// The notifications that the server shows, by number.
    var screen: [UInt32: DesktopNotification] = [:]
    var server: NotificationServer?
    /// The app's answer to questions; nil if the test answers instead.
    var answer: PresentationAnswer? = .notInFront
    private var lastNumber: UInt32 = 0

    static func notification(_ identifier: String, title: String = "Title") -> AppNotification {
        var notification = AppNotification(identifier: identifier, date: Date(timeIntervalSince1970: 5))
        notification.title = title
        return notification
    }

    init(permission: NotificationPermission = .allowed, server: NotificationServer? = all) {
        step { $0.setPermission(permission, of: Self.app, now: $1) }
        serve(server)
        effects = []
        entries = []
    }

    mutating func serve(_ server: NotificationServer?) {
        if server?.identity != self.server?.identity { screen = [:] }
        self.server = server
        step { $0.apply(.server(server), now: $1) }
    }

    /// Writes a row as other features do, in its own transaction.
    mutating func put(_ notification: AppNotification, due: Double?, app: AppID = app) {
        insert(StoredNotification(app: app, notification: notification, due: due))
        load()
    }

    mutating func load() {
        var kept = StoredNotifications<NotificationAppRecord>()
        (kept.apps, kept.notifications) = (records, rows)
        book.load(kept)
        durable = book
        step { _, _ in }
    }

    /// Restarts the service after a crash.
    mutating func restart() {
        book = NotificationState()
        durable = book
        load()
        step { $0.apply(.connected, now: $1) }
        serve(server)
    }

    mutating func pass(_ seconds: Double) {
        now += seconds
        step { _, _ in }
    }

    mutating func choose(_ number: UInt32, _ key: String) {
        guard let server else { return }
        step { $0.apply(.chosen(server: server.identity, number: number, key: key), now: $1) }
    }

    mutating func close(_ number: UInt32, _ reason: DesktopEvent.CloseReason) {
        guard let server else { return }
        screen[number] = nil
        step { $0.apply(.closed(server: server.identity, number: number, reason), now: $1) }
    }

    mutating func step<Failure: Error>(_ input: (inout NotificationState, Double) throws(Failure) -> Void)
        throws(Failure)
    {
        try input(&book, now)
        var isFirst = true
        while true {
            book.decide(at: now)
            write()
            let todo = book.takeEffects()
            guard isFirst || !todo.isEmpty else { return }
            isFirst = false
            for effect in todo { perform(effect) }
        }
    }

    /// Makes the write of `input` fail. During that write, `later` runs, and its changes are written.
    mutating func fail(_ input: (inout NotificationState, Double) -> Void, later: (inout Self) -> Void = { _ in }) {
        input(&book, now)
        book.decide(at: now)
        for effect in book.takeEffects() { perform(effect) }
        later(&self)
    }

    private mutating func perform(_ effect: NotificationEffect) {
        switch effect {
        case .present(let token, _, _) where answer != nil:
            if let answer { book.presented(token, answer, now: now) }
        case .show(let token, _):
            guard let server, let draft = book.draft(of: token, name: "App", icon: "app-icon") else { return }
            if draft.replaces == 0 { lastNumber += 1 }
            let number = draft.replaces == 0 ? lastNumber : draft.replaces
            screen[number] = draft
            self.server = server
            book.apply(.shown(token: token, number: number), now: now)
        case .close(let place):
            screen[place.number] = nil
        default: effects.append(effect)
        }
    }

    /// Writes the difference between the state and the disk.
    private mutating func write() {
        for change in book.changes(since: durable) { write(change) }
        book.wrote(book)
        durable = book
        assert(book.changes(since: durable).isEmpty)
    }

    private mutating func write(_ change: NotificationChange) {
        switch change {
        case .forget(let app):
            rows.removeAll { $0.app == app }
            records[app] = nil
        case .app(let record, let app): records[app] = record
        case .remove(let stored): rows.removeAll { $0.key == stored.key }
        case .update(let stored):
            for index in rows.indices where rows[index].key == stored.key { rows[index] = stored }
        case .put(let stored): insert(stored)
        case .respond(let response, _): responses.append(response)
        case .entry(let entry): entries.append(entry)
        }
    }

    private mutating func insert(_ stored: StoredNotification) {
        rows.removeAll { $0.key == stored.key }
        rows.append(stored)
        let same = rows.filter { $0.app == stored.app && ($0.state == .shown) == (stored.state == .shown) }
        let old = Set(same.dropLast(Limits.notifications).map(\.key))
        rows.removeAll { old.contains($0.key) }
    }
}
