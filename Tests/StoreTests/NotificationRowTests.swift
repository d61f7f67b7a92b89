import Foundation
import GRDB
import NightshiftAPI
import Store
import Testing

/// R3: Tests of the database rows for notifications.
@Suite struct NotificationRowTests {
    private struct Record: Codable, Sendable, Hashable {
        var value: Int
    }

    private static let app = AppID(rawValue: "org.example.app")
    private static let other = AppID(rawValue: "org.example.other")
    private static let place = StoredNotification.Place(server: "bus/:1.7", number: .max)

    private static func kept(_ store: Store) async throws -> StoredNotifications<Record> {
        try await store.read { try $0.notifications(Record.self) }
    }

    private static func notification(_ identifier: String, title: String = "Title") -> AppNotification {
        var notification = AppNotification(identifier: identifier, date: Date(timeIntervalSince1970: 1_800_000_000.5))
        notification.title = title
        notification.badge = 3
        notification.sound = "default"
        notification.actions = [AppNotification.Action(identifier: "reply", title: "Reply", isForeground: false)]
        notification.userInfo = #"{"a":"\n"}"#
        notification.isRemote = true
        return notification
    }

    @Test func `R3: A new notification replaces the pending one with its identifier`() async throws {
        let store = try await StoreFixture.inMemory()
        let new = Self.notification("a", title: "New")
        let time = new.date.timeIntervalSince1970
        try await store.write { transaction in
            try transaction.putNotification(Self.notification("a", title: "Old"), for: Self.app, due: 5)
            try transaction.putNotification(new, for: Self.app, due: time)
            try transaction.putNotification(Self.notification("a"), for: Self.other, due: 7.25)
        }
        let expected = StoredNotification(app: Self.app, notification: new, due: time)
        let others = StoredNotification(app: Self.other, notification: Self.notification("a"), due: 7.25)
        #expect(try await Self.kept(store).notifications == [expected, others])
    }

    @Test(arguments: [StoredNotification.State.pending, .due, .shown], [-1.0, 0, 1])
    func `R3: An alert that has waited does not replace a newer notification`(
        state: StoredNotification.State, age: Double
    ) async throws {
        let store = try await StoreFixture.inMemory()
        let alert = Self.notification("a", title: "Alert")
        var local = StoredNotification(app: Self.app, notification: Self.notification("a"), state: state, due: 5)
        local.notification.date = alert.date.addingTimeInterval(age)
        let due = alert.date.timeIntervalSince1970 + 30
        try await store.write { [local] transaction in
            try transaction.put(local)
            try transaction.putNotification(alert, for: Self.app, due: due)
            try transaction.putNotification(alert, for: Self.other, due: due)
        }
        let rows = try await Self.kept(store).notifications
        #expect(rows.contains { $0.app == Self.app && $0.notification == alert } == (age <= 0))
        #expect(
            rows.contains { $0.app == Self.app && $0.notification == local.notification }
                == (age > 0 || state == .shown))
        #expect(rows.contains { $0.app == Self.other })
    }

    @Test func `R3: An alert that waited for its app in an earlier version is shown after the update`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            for app in [Self.app, Self.other] {
                try transaction.putNotification(Self.notification("a"), for: app, due: 5)
            }
            try transaction.put(
                StoredNotification(app: Self.app, notification: Self.notification("a"), state: .shown))
        }
        try store.close()
        try fixture.edit(
            """
            UPDATE notifications SET due_at = NULL WHERE app = 'org.example.app';
            DELETE FROM grdb_migrations WHERE identifier = '0024 waiting alerts';
            """)
        let start = Date().timeIntervalSince1970
        let rows = try await Self.kept(try fixture.open()).notifications
        let due = try #require(rows.first { $0.app == Self.app && $0.state == .pending }?.due)
        #expect(abs(due - start) < 600)
        #expect(rows.first { $0.app == Self.other }?.due == 5)
        #expect(rows.contains { $0.state == .shown && $0.due == nil })
    }

    @Test func `R3: A changed notification keeps its place in the order, and an added one comes last`() async throws {
        let store = try await StoreFixture.inMemory()
        var first = StoredNotification(app: Self.app, notification: Self.notification("a"), due: 5)
        let whole = first.notification.date
        // The clock has more digits than the row.
        first.notification.date += 0.000_456
        let second = StoredNotification(app: Self.app, notification: Self.notification("b"), due: 6)
        var shown = StoredNotification(app: Self.app, notification: Self.notification("a"), state: .shown)
        shown.place = Self.place
        try await store.write { [first, shown] transaction in
            for stored in [first, second, shown] { try transaction.put(stored) }
        }
        (first.state, first.due, first.delay, first.repeats, shown.place) = (.due, 7, 8, true, nil)
        try await store.write { [first, shown] transaction in
            for stored in [shown, first] { try transaction.update(stored) }
        }
        first.notification.date = whole
        #expect(try await Self.kept(store).notifications == [first, second, shown])
        first.notification.date += 0.000_456
        try await store.write { [first] in try $0.put(first) }
        first.notification.date = whole
        #expect(try await Self.kept(store).notifications == [second, shown, first])
        try await store.write { [first] in try $0.delete(first) }
        #expect(try await Self.kept(store).notifications == [second, shown])
    }

    @Test func `R3: A notification that another feature has replaced is neither changed nor deleted`() async throws {
        let store = try await StoreFixture.inMemory()
        var old = StoredNotification(app: Self.app, notification: Self.notification("a", title: "Old"), due: 5)
        var new = Self.notification("a", title: "New")
        new.date += 1
        try await store.write { [old, new] transaction in
            try transaction.put(old)
            try transaction.putNotification(new, for: Self.app, due: 9)
        }
        old.state = .due
        try await store.write { [old] transaction in
            try transaction.update(old)
            try transaction.delete(old)
        }
        #expect(
            try await Self.kept(store).notifications == [StoredNotification(app: Self.app, notification: new, due: 9)])
    }

    @Test func `R3: The store deletes the oldest notifications when too many are pending or shown`()
        async throws
    {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for number in 0..<(Limits.notifications + 3) {
                let notification = Self.notification("\(number)")
                try transaction.put(StoredNotification(app: Self.app, notification: notification, state: .shown))
                try transaction.putNotification(notification, for: Self.app, due: 5)
            }
            try transaction.putNotification(Self.notification("x"), for: Self.other, due: 5)
        }
        let rows = try await Self.kept(store).notifications
        for isShown in [false, true] {
            let names = rows.filter { $0.app == Self.app && ($0.state == .shown) == isShown }
                .map(\.notification.identifier)
            #expect(names == (3..<(Limits.notifications + 3)).map(String.init))
        }
        #expect(rows.count == 2 * Limits.notifications + 1)
    }

    @Test func `R3: The state of each app is stored and deleted separately`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            try transaction.putNotifications(Record(value: 1), of: Self.app)
            try transaction.putNotifications(Record(value: 2), of: Self.other)
            try transaction.putNotifications(Record(value: 3), of: Self.app)
            for app in [Self.app, Self.other] {
                try transaction.putNotification(Self.notification("a"), for: app, due: 5)
                try transaction.putWake(app, .push, now: StoreFixture.now)
            }
        }
        #expect(try await Self.kept(store).apps == [Self.app: Record(value: 3), Self.other: Record(value: 2)])
        try await store.write { try $0.deleteNotifications(of: Self.app) }
        let kept = try await Self.kept(store)
        #expect(kept.apps == [Self.other: Record(value: 2)] && kept.notifications.map(\.app) == [Self.other])
        #expect(try await store.read { try $0.wantedWakes() }.count == 2, "not what is others' to forget")
    }

    @Test(arguments: [
        ("notifications SET record = '{'", "notification 'a' of org.example.app"),
        ("notifications SET identifier = 'b'", "notification 'b' of org.example.app"),
        ("notification_apps SET record = '[]'", "notification record of org.example.app"),
    ])
    func `R3: An unreadable notification row does not affect other rows`(change: String, name: String) async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            for app in [Self.app, Self.other] {
                try transaction.putNotifications(Record(value: 1), of: app)
                try transaction.putNotification(Self.notification("a"), for: app, due: 5)
            }
        }
        try store.close()
        try fixture.edit("UPDATE \(change) WHERE app = 'org.example.app'")
        let kept = try await Self.kept(try fixture.open())
        #expect(kept.unreadable == [name])
        #expect(kept.apps.count + kept.notifications.count == 3)
    }
}
