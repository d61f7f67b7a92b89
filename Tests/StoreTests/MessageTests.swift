import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests that the database writes messages to apps together with the change that they report.
@Suite struct MessageTests {
    private static let app = AppID(rawValue: "org.example.app")
    private static let session = SessionID(app: app, identifier: "photos")

    private static func store(launchEvents: Bool = true) async throws -> Store {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            var settings = SessionSettings()
            settings.sessionSendsLaunchEvents = launchEvents
            _ = try transaction.putSession(app, "photos", settings)
        }
        return store
    }

    private static func end(_ record: TaskRecord, _ transaction: StoreTransaction) throws -> TaskRecord {
        var record = record
        record.state = .completed
        record.endedAt = 1_800_000_100
        record.endedBoot = 0
        record.question = nil
        try transaction.update(record)
        return record
    }

    private static func forgettable(_ store: Store) async throws -> [TaskID] {
        try await store.read { try $0.forgettableTasks(endedFor: 1, now: StoreFixture.now, limit: 9) }.map(\.id)
    }

    private static func messages(_ store: Store, after: Int64 = 0) async throws -> [StoredMessage] {
        try await store.read { try $0.messages(session, after: after, limit: 100) }
    }

    @Test func `T10: The end of an app's task adds one message in the same transaction`() async throws {
        let store = try await Self.store()
        let record = try await store.write { transaction in
            try Self.end(transaction.insert(.waiting(session: Self.session)), transaction)
        }
        let found = try await Self.messages(store)
        #expect(found.map(\.kind) == [.ended])
        #expect(found.first?.task.id == record.id)
        #expect(found.first?.task.state == .completed)
        #expect(found.first?.task.app == Self.app)
        // Later changes of the row add no message.
        try await store.write { try $0.update(record) }
        #expect(try await Self.messages(store).count == 1)
        // A rolled-back transaction adds no message.
        await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                _ = try Self.end(transaction.insert(.waiting(session: Self.session)), transaction)
                throw StoreError(.other, "undone")
            }
        }
        #expect(try await Self.messages(store).count == 1)
    }

    @Test func `Tasks that were added at a terminal do not cause messages`() async throws {
        let store = try await Self.store()
        let record = try await store.write { try Self.end($0.insert(.waiting()), $0) }
        #expect(try await store.read { try $0.hasMessages(record.id) } == false)
    }

    @Test func `T13: The message of a resumption precedes that of the end, even if one update has both`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            var record = try transaction.insert(.waiting(session: Self.session))
            record.resumedAt = 4_096
            _ = try Self.end(record, transaction)
        }
        let found = try await Self.messages(store)
        #expect(found.map(\.kind) == [.resumed, .ended])
        #expect(found.first?.task.resumedAt == 4_096)
    }

    @Test func `T7: The end of a task deletes the task's question`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            var record = try transaction.insert(.waiting(session: Self.session))
            record.question = .challenge
            try transaction.update(record)
            try transaction.putChallenge(of: record, Challenge(method: .basic, host: "a", port: 80, scheme: "http"))
            // A repeated question replaces the pending one, and contains the last failure.
            var again = Challenge(method: .basic, host: "a", port: 80, scheme: "http")
            again.previousFailureCount = 1
            try transaction.putChallenge(of: record, again)
        }
        let asked = try await Self.messages(store)
        #expect(asked.map(\.kind) == [.challenge])
        #expect(asked.first?.challenge?.previousFailureCount == 1)
        try await store.write { transaction in _ = try Self.end(asked[0].task, transaction) }
        #expect(try await Self.messages(store).map(\.kind) == [.ended])
    }

    @Test func `T7: A task that waits for an answer is not ready to run`() async throws {
        let store = try await Self.store()
        let record = try await store.write { try $0.insert(.waiting(session: Self.session)) }
        #expect(try await store.read { try $0.readyLanes().count } == 1)
        try await store.write { transaction in
            var asked = record
            asked.question = .challenge
            try transaction.update(asked)
        }
        let (lanes, tasks) = try await store.read {
            (
                try $0.readyLanes(),
                try $0.readyTasks(lane: record.lane, rules: TransferRules(), isLarge: false, limit: 9)
            )
        }
        #expect(lanes == [])
        #expect(tasks == [])
    }

    @Test func `A begin date that has passed becomes a question if the app wants to answer it`() async throws {
        let store = try await Self.store()
        let (asks, begins) = try await store.write { transaction in
            var first = TaskRecord.waiting(session: Self.session)
            first.beginAt = 1_800_000_500
            first.asksFirst = true
            var second = TaskRecord.waiting(session: Self.session)
            second.beginAt = 1_800_000_500
            let records = try [transaction.insert(first), transaction.insert(second)]
            try transaction.releaseDue(bootSeconds: 0, wallSeconds: 1_800_000_499)
            #expect(try transaction.messages(Self.session, after: 0, limit: 9) == [])
            try transaction.releaseDue(bootSeconds: 0, wallSeconds: 1_800_000_500)
            return (records[0], records[1])
        }
        let found = try await Self.messages(store)
        #expect(found.map(\.kind) == [.delayedRequest])
        #expect(found.map(\.task.id) == [asks.id])
        #expect(found.first?.task.question == .delayedRequest)
        let ready = try await store.read {
            try $0.readyTasks(lane: asks.lane, rules: TransferRules(), isLarge: false, limit: 9)
        }
        #expect(ready.map(\.id) == [begins.id])
    }

    @Test func `T9: The end of the last task of a session wakes the app, and no earlier end does`() async throws {
        let store = try await Self.store()
        let (first, second) = try await store.write { transaction in
            let records = try (0..<2).map { _ in try transaction.insert(.waiting(session: Self.session)) }
            // A task that the app has suspended does not delay the wake.
            var suspended = TaskRecord.waiting(session: Self.session)
            suspended.state = .suspended
            _ = try transaction.insert(suspended)
            return (records[0], records[1])
        }
        #expect(try await store.read { try $0.wantedWakes() } == [])
        try await store.write { _ = try Self.end(first, $0) }
        #expect(try await store.read { try $0.wantedWakes() } == [])
        try await store.write { _ = try Self.end(second, $0) }
        let last = try #require(try await Self.messages(store).last?.id)
        let wake = WantedWake(app: Self.app, reason: .sessionEvents, key: "photos", through: last)
        #expect(try await store.read { try $0.wantedWakes() } == [wake])
        // After a completed wake, the app is woken again only for new messages.
        try await store.write { try $0.finishWake(Self.session, through: last) }
        #expect(try await store.read { try $0.wantedWakes() } == [])
        try await store.write { _ = try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await store.read { try $0.wantedWakes() }.map(\.through) == [last + 1])
    }

    @Test func `T7 T9: A question wakes the app at once`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            _ = try transaction.insert(.waiting(session: Self.session))
            let record = try transaction.insert(.waiting(session: Self.session))
            try transaction.putChallenge(of: record, Challenge(method: .digest, host: "a", port: 80, scheme: "http"))
        }
        #expect(try await store.read { try $0.wantedWakes() }.map(\.reason) == [.challenge])
    }

    @Test func `T1: A session without launch events does not wake its app`() async throws {
        let store = try await Self.store(launchEvents: false)
        try await store.write { _ = try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await Self.messages(store).count == 1)
        #expect(try await store.read { try $0.wantedWakes() } == [])
    }

    @Test func `T10: A task is kept until its app has acknowledged the task's end`() async throws {
        let store = try await Self.store()
        let record = try await store.write { try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await Self.forgettable(store) == [])
        let message = try #require(try await Self.messages(store).first)
        try await store.write { try $0.deleteMessage(message.id) }
        #expect(try await Self.forgettable(store) == [record.id])
    }

    @Test func `T6: Tasks keep the numbers that the app has chosen`() async throws {
        let store = try await Self.store()
        let (given, next) = try await store.write { transaction in
            var record = TaskRecord.waiting(session: Self.session)
            record.taskIdentifier = 7
            return (try transaction.insert(record), try transaction.putSession(Self.app, "photos", SessionSettings()))
        }
        #expect(given.taskIdentifier == 7)
        #expect(next == 8)
        #expect(try await store.read { try $0.task(7, of: Self.session) } == given.id)
        #expect(try await store.read { try $0.task(8, of: Self.session) } == nil)
    }

    @Test func `The store reads apps back unchanged`() async throws {
        let store = try await Self.store()
        var record = AppRecord(id: Self.app, now: 5)
        record.process = StoredProcess(processID: 12, startTime: 99, bootID: "b", isManaged: true)
        record.lastExit = AppExit(time: .init(timeIntervalSince1970: 4), cause: .eventsOverdue)
        let first = record
        try await store.write { try $0.put(first) }
        record.faults = 3
        let second = record
        try await store.write { try $0.put(second) }
        #expect(try await store.read { try $0.apps() }.records == [second])
        try await store.write { try $0.deleteApp(Self.app) }
        #expect(try await store.read { try $0.apps() }.records == [])
    }
}
