import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// One row that makes no sense takes no other with it.
@Suite struct UnreadableTests {
    static let damages = [
        "request = 'no JSON'", "wait_reason = 'somethingOfAnotherVersion'", "partial = '{'",
        "rules = 9223372036854775807", "publication = '[]'", "verified = '7'", "error = '{\"code\":\"none\"}'",
        "upload_source = '}'", "wrong_sources = '{}'",
        "failures = 9223372036854775807", "attempts = -1", "received = 9223372036854775807", "resumed_at = -1",
    ]

    @Test(arguments: damages) func theOthersAreReadAndItIsNamed(damage: String) async throws {
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
        // Found several times, it is told once.
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

    @Test func aSessionWhoseSettingsAreGoneLeavesTheOthersAlone() async throws {
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
        #expect(rows.records.count == 1 && rows.unreadable.count == 1)
        #expect(try await again.read { try $0.readyLanes() }.count == 2)
        try again.close()
    }

    @Test func anUnreadableEntryOfTheJournalKeepsItsPlace() async throws {
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
