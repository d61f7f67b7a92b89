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

    @Test func `R3: A notification waits until it is unblocked, and is unblocked only once`()
        async throws
    {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            try transaction.putNotification(Self.notification("a", title: "Old"), for: Self.app, due: 5)
            try transaction.putNotification(Self.notification("a"), for: Self.app, due: nil)
            try transaction.putNotification(Self.notification("a"), for: Self.other, due: 7.25)
        }
        let waits = StoredNotification(app: Self.app, notification: Self.notification("a"))
        let others = StoredNotification(app: Self.other, notification: Self.notification("a"), due: 7.25)
        #expect(try await Self.kept(store).notifications == [waits, others])
        let released = try await store.write { transaction in
            [
                try transaction.releaseNotification("a", of: Self.app, at: 9),
                try transaction.releaseNotification("a", of: Self.app, at: 10),
                try transaction.releaseNotification("a", of: Self.other, at: 11),
                try transaction.releaseNotification("b", of: Self.app, at: 12),
            ]
        }
        #expect(released == [true, false, false, false])
        #expect(try await Self.kept(store).notifications.map(\.due) == [9, 7.25])
        try await store.write { transaction in
            try transaction.notificationIsDue("a", of: Self.app)
            try transaction.notificationShown(Self.notification("a"), of: Self.other, place: nil)
        }
        #expect(try await Self.kept(store).notifications.map(\.state) == [.due, .shown])
        try await store.write { transaction in
            try transaction.notificationShown(Self.notification("a"), of: Self.app, place: Self.place)
            try transaction.putNotification(Self.notification("a", title: "New"), for: Self.app, due: nil)
        }
        var rows = try await store.read { try $0.notifications(of: Self.app) }
        #expect(rows.map(\.state) == [.shown, .pending] && rows.map(\.place) == [Self.place, nil])
        #expect(rows.map(\.notification.title) == ["Title", "New"])
        try await store.write { transaction in
            try transaction.notificationShown(Self.notification("a", title: "New"), of: Self.app, place: Self.place)
            try transaction.forgetPlace("a", of: Self.app)
        }
        rows = try await store.read { try $0.notifications(of: Self.app) }
        #expect(rows.map(\.state) == [.shown] && rows.map(\.place) == [nil])
        #expect(rows.map(\.notification.title) == ["New"])
    }

    @Test func `R3: A repeating notification still waits for its next time after it is shown`() async throws {
        let store = try await StoreFixture.inMemory()
        var repeating = StoredNotification(app: Self.app, notification: Self.notification("a"), due: 60)
        (repeating.delay, repeating.repeats) = (60, true)
        try await store.write { [repeating] transaction in
            try transaction.put(repeating)
            try transaction.notificationIsDue("a", of: Self.app)
            try transaction.notificationShown(repeating.notification, of: Self.app, place: nil, next: 120)
        }
        repeating.due = 120
        var shown = StoredNotification(app: Self.app, notification: repeating.notification, state: .shown)
        #expect(try await Self.kept(store).notifications == [repeating, shown])
        try await store.write { [shown] transaction in
            try transaction.deleteNotification(shown.key)
        }
        #expect(try await Self.kept(store).notifications == [repeating])
        shown.state = .pending
        try await store.write { [shown] transaction in
            try transaction.deleteNotification(shown.key)
        }
        #expect(try await Self.kept(store).notifications.isEmpty)
    }

    @Test func `R3: The store deletes the oldest notifications when too many are pending or shown`()
        async throws
    {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            for number in 0..<(Limits.notifications + 3) {
                let (waits, shown) = (Self.notification("\(number)"), Self.notification("\(number)"))
                try transaction.notificationShown(shown, of: Self.app, place: nil)
                try transaction.putNotification(waits, for: Self.app, due: nil)
            }
            try transaction.putNotification(Self.notification("x"), for: Self.other, due: nil)
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
                try transaction.putNotification(Self.notification("a"), for: app, due: nil)
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
                try transaction.putNotification(Self.notification("a"), for: app, due: nil)
            }
        }
        try store.close()
        try fixture.edit("UPDATE \(change) WHERE app = 'org.example.app'")
        let kept = try await Self.kept(try fixture.open())
        #expect(kept.unreadable == [name])
        #expect(kept.apps.count + kept.notifications.count == 3)
    }
}
