import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Messages to apps are written by the database itself, with the change that they tell of.
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

    @Test func `T10: the end of an app's task is a message of the same transaction, once`() async throws {
        let store = try await Self.store()
        let record = try await store.write { transaction in
            try Self.end(transaction.insert(.waiting(session: Self.session)), transaction)
        }
        let found = try await Self.messages(store)
        #expect(found.map(\.kind) == [.ended])
        #expect(found.first?.task.id == record.id)
        #expect(found.first?.task.state == .completed)
        #expect(found.first?.task.app == Self.app)
        // Later changes of the row tell nothing again.
        try await store.write { try $0.update(record) }
        #expect(try await Self.messages(store).count == 1)
        // A transaction that is undone leaves none.
        await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                _ = try Self.end(transaction.insert(.waiting(session: Self.session)), transaction)
                throw StoreError(.other, "undone")
            }
        }
        #expect(try await Self.messages(store).count == 1)
    }

    @Test func `Tasks of people at a terminal have no messages`() async throws {
        let store = try await Self.store()
        let record = try await store.write { try Self.end($0.insert(.waiting()), $0) }
        #expect(try await store.read { try $0.hasMessages(record.id) } == false)
    }

    @Test func `T13: going on is told before the end, also when one update brings both`() async throws {
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

    @Test func `T7: a question goes with its task's end`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            var record = try transaction.insert(.waiting(session: Self.session))
            record.question = .challenge
            try transaction.update(record)
            try transaction.putChallenge(of: record, Challenge(method: .basic, host: "a", port: 80, scheme: "http"))
            // Asked again, it is still one question, and tells of the last failure.
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

    @Test func `T7: a task that waits for an answer is not ready`() async throws {
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

    @Test func `A begin date that has come is a question where the app wants to be asked`() async throws {
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

    @Test func `T9: an app is wanted when the last of a session's tasks has ended, and not before`() async throws {
        let store = try await Self.store()
        let (first, second) = try await store.write { transaction in
            let records = try (0..<2).map { _ in try transaction.insert(.waiting(session: Self.session)) }
            // One that the app has suspended itself is nothing to wait for.
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
        // Woken for it once, it is not wanted again until there is something new.
        try await store.write { try $0.finishWake(Self.session, through: last) }
        #expect(try await store.read { try $0.wantedWakes() } == [])
        try await store.write { _ = try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await store.read { try $0.wantedWakes() }.map(\.through) == [last + 1])
    }

    @Test func `T7 T9: a question wants the app at once`() async throws {
        let store = try await Self.store()
        try await store.write { transaction in
            _ = try transaction.insert(.waiting(session: Self.session))
            let record = try transaction.insert(.waiting(session: Self.session))
            try transaction.putChallenge(of: record, Challenge(method: .digest, host: "a", port: 80, scheme: "http"))
        }
        #expect(try await store.read { try $0.wantedWakes() }.map(\.reason) == [.challenge])
    }

    @Test func `T1: a session without launch events wakes nobody`() async throws {
        let store = try await Self.store(launchEvents: false)
        try await store.write { _ = try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await Self.messages(store).count == 1)
        #expect(try await store.read { try $0.wantedWakes() } == [])
    }

    @Test func `T10: a task is kept until its app has heard of its end`() async throws {
        let store = try await Self.store()
        let record = try await store.write { try Self.end($0.insert(.waiting(session: Self.session)), $0) }
        #expect(try await Self.forgettable(store) == [])
        let message = try #require(try await Self.messages(store).first)
        try await store.write { try $0.deleteMessage(message.id) }
        #expect(try await Self.forgettable(store) == [record.id])
    }

    @Test func `T6: tasks keep the numbers that their app gave them`() async throws {
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

    @Test func `Apps are kept as they were`() async throws {
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
