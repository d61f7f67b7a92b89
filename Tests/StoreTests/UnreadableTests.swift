import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that an unreadable row does not affect others.
@Suite struct UnreadableTests {
    static let damages = [
        "request = 'no JSON'", "wait_reason = 'somethingOfAnotherVersion'", "partial = '{'",
        "rules = 9223372036854775807", "publication = '[]'", "verified = '7'", "error = '{\"code\":\"none\"}'",
        "upload_source = '}'", "wrong_sources = '{}'",
        // These numbers cannot be displayed, or cannot be increased.
        "created_at = 1e308", "created_at = -1e12", "started_at = 1e12",
        "wait_since = -1e300, wait_reason = 'retry'", "not_before = 9e999", "deadline = -1e300", "time_left = 1e18",
        "loosens_at = 1e300", "attempts = 9223372036854775807", "restarts = -1",
        "failures = 9223372036854775807", "fruitless = 9223372036854775807", "received = 9223372036854775807",
        "sent = -9223372036854775807", "resumed_at = -1",
    ]

    @Test(arguments: damages) func `The store names an unreadable task, and still reads the others`(damage: String)
        async throws
    {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let ids = try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            return try (0..<3).map { _ in try transaction.insert(.waiting()).id }
        }
        try store.close()
        try fixture.edit("UPDATE tasks SET \(damage) WHERE id = \(ids[1])")
        let again = try fixture.open()
        let rows = try await again.read { try $0.rows(session: nil, states: nil, after: nil, limit: 10) }
        #expect(rows.records.map(\.id) == [ids[0], ids[2]])
        #expect(rows.unreadable.map(\.id) == [ids[1]])
        #expect(rows.last == ids[2] && rows.count == 3)
        let error = await #expect(throws: StoreError.self) { try await again.read { try $0.task(ids[1]) } }
        #expect(error?.code == .unreadable)
        #expect(try await again.read { try $0.readableTask(ids[1]) } == nil)
        #expect(try await again.read { try $0.partialPaths() } == [])
        #expect(try await again.read { try $0.snapshotPaths() } == [])
        // A task that is found several times is reported once.
        let fresh = again.unreadable.takeFresh()
        #expect(fresh.map(\.id) == [ids[1]])
        #expect(again.unreadable.takeFresh() == [])
        try await again.write { try $0.setAside(fresh) }
        let ready = try await again.read { transaction in
            try transaction.readyLanes().flatMap { lane in
                try transaction.readyRules(lane: lane.id).flatMap { rules in
                    try transaction.readyTasks(lane: lane.id, rules: rules, isLarge: false, limit: 10).map(\.id)
                }
            }
        }
        #expect(ready == [ids[0], ids[2]])
        try await again.write { try $0.delete(ids[1]) }
        #expect(try await again.read { try $0.taskCount() } == 2)
        try again.close()
    }

    @Test(arguments: [
        "UPDATE tasks SET request = 'no JSON' WHERE id = 1", "UPDATE messages SET challenge = '{' WHERE id = 1",
    ])
    func `The store keeps the position of an unreadable message, and still reads the others`(damage: String)
        async throws
    {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let app = AppID(rawValue: "org.example.app")
        let session = SessionID(app: app, identifier: "s")
        let ids = try await store.write { transaction in
            _ = try transaction.putSession(app, "s", SessionSettings())
            let records = try (0..<2).map { _ in try transaction.insert(.waiting(session: session)) }
            let challenge = Challenge(method: .basic, host: "h", port: 443, scheme: "https")
            try transaction.putChallenge(of: records[0], challenge)
            var ended = records[1]
            ended.state = .completed
            ended.endedAt = 1_800_000_100
            ended.endedBoot = 0
            try transaction.update(ended)
            return records.map(\.id)
        }
        #expect(ids == [TaskID(1), TaskID(2)])
        try store.close()
        try fixture.edit(damage)
        let again = try fixture.open()
        let rows = try await again.read { try $0.messageRows(session, after: 0, limit: 10) }
        #expect(rows.map(\.id) == [1, 2])
        #expect(rows.map(\.kind) == [.challenge, .ended])
        #expect(rows.map { $0.message?.task.id } == [nil, ids[1]])
        #expect(try await again.read { try $0.messages(session, after: 0, limit: 10) }.map(\.id) == [2])
        let error = await #expect(throws: StoreError.self) { try await again.read { try $0.message(1, of: session) } }
        #expect(error?.code == .unreadable)
        try await again.write { try $0.deleteMessage(1) }
        #expect(try await again.read { try $0.messageRow(1, of: session)?.id } == nil)
        try again.close()
    }

    @Test func `A session with unreadable settings uses the defaults`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let other = SessionID(rawValue: "other")
        try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            try transaction.putSession(other, SessionSettings())
            _ = try transaction.insert(.waiting())
            _ = try transaction.insert(.waiting(session: other))
        }
        try store.close()
        try fixture.edit("UPDATE sessions SET settings = 'gone' WHERE identifier = 'other'")
        let again = try fixture.open()
        let rows = try await again.read { try $0.rows(session: nil, states: nil, after: nil, limit: 10) }
        #expect(rows.records.count == 2 && rows.unreadable == [])
        #expect(try await again.read { try $0.readyLanes() }.count == 2)
        let (settings, sessions, unreadable) = try await again.read { transaction in
            (
                try transaction.sessionSettings(other), try transaction.sessions(),
                try transaction.unreadableSessions().map(\.id)
            )
        }
        #expect(settings == SessionSettings() && unreadable == [other])
        #expect(sessions.map(\.id) == [.terminal, other] && sessions.map { $0.unreadable == nil } == [true, false])
        // The settings are replaced.
        try await again.write { try $0.putSession(other, SessionSettings()) }
        #expect(try await again.read { try $0.unreadableSessions() }.isEmpty)
        try again.close()
    }

    @Test(arguments: [#"{"x":1}"#, "gone"]) func `The store names an unreadable app, and still reads the others`(
        text: String
    ) async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let (one, two) = (AppID(rawValue: "one"), AppID(rawValue: "two"))
        try await store.write { transaction in
            for id in [one, two] { try transaction.put(AppRecord(id: id, now: 0)) }
        }
        try store.close()
        try fixture.edit("UPDATE apps SET record = '\(text)' WHERE id = 'one'")
        let again = try fixture.open()
        let apps = try await again.read { try $0.apps() }
        #expect(apps.records.map(\.id) == [two] && apps.unreadable.map(\.id) == [one])
        let error = await #expect(throws: StoreError.self) { try await again.read { try $0.app(one) } }
        #expect(error?.code == .unreadable && error?.message.contains("nightshift app remove one") == true)
        try await again.write { try $0.deleteApp(one) }
        #expect(try await again.read { try $0.apps() }.unreadable == [])
        try again.close()
    }

    @Test func `The store reports unreadable device values until they are replaced`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let fine = try await store.write { transaction in
            try transaction.put(DeviceSettings())
            try transaction.put(doze: ["since": 1.0])
            return [
                try transaction.objectionToDeviceSettings(), try transaction.objection(toDoze: [String: Double].self),
            ]
        }
        #expect(fine == [nil, nil])
        try store.close()
        try fixture.edit("UPDATE device SET settings = '{\"x\":1}', doze = '{}'")
        let again = try fixture.open()
        let (settings, doze, objections) = try await again.read { transaction in
            (
                try transaction.deviceSettings(), try transaction.doze(AppRecord.self),
                [try transaction.objectionToDeviceSettings(), try transaction.objection(toDoze: AppRecord.self)]
            )
        }
        #expect(settings == nil && doze == nil && !objections.contains(nil))
        try await again.write { try $0.put(DeviceSettings()) }
        #expect(try await again.read { try $0.objectionToDeviceSettings() } == nil)
        try again.close()
        let kept = try fixture.text("SELECT replaced_settings FROM device")
        #expect(kept == #"{"x":1}"#)
    }

    @Test func `An unreadable journal entry keeps its position`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            for _ in 0..<3 { try transaction.record(JournalEntry(time: .now, decision: .serviceStarted)) }
        }
        try store.close()
        try fixture.edit("UPDATE journal SET decision = 'ofAnotherVersion', error = '{' WHERE id = 2")
        let again = try fixture.open()
        let entries = try await again.read { try $0.journal(after: 0, limit: 10) }
        #expect(entries.map(\.id) == [1, 2, 3])
        #expect(entries.map(\.decision) == [.serviceStarted, .unreadable, .serviceStarted])
        try again.close()
    }
}
