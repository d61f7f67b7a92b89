import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of requirement classes: the cost of reading them, and their changes.
@Suite struct RulesTests {
    private static let expensive: TransferRules = {
        var rules = TransferRules()
        rules.allowsExpensiveNetworkAccess = false
        return rules
    }()
    private static let discretionary: TransferRules = {
        var rules = TransferRules()
        rules.discretion = .full
        rules.minimumBattery = 40
        return rules
    }()

    private static func waiting(_ rules: TransferRules, priority: Double = 0.5, large: Bool = false) -> TaskRecord {
        var record = TaskRecord.waiting(priority: priority, large: large)
        record.rules = rules
        return record
    }

    @Test func `Each requirement class has a queue of its own`() async throws {
        let store = try await StoreFixture.inMemory()
        let records = try await store.write { transaction in
            var paused = Self.waiting(Self.expensive)
            paused.notBefore = 5
            return try [
                Self.waiting(Self.discretionary), Self.waiting(TransferRules()),
                Self.waiting(Self.discretionary, priority: 0.9), Self.waiting(Self.discretionary, large: true), paused,
            ].map { try transaction.insert($0) }
        }
        let lane = records[0].lane
        let (rules, small, large, empty, held) = try await store.read { transaction in
            (
                try transaction.readyRules(lane: lane),
                try transaction.readyTasks(lane: lane, rules: Self.discretionary, isLarge: false, limit: 9).map(\.id),
                try transaction.readyTasks(lane: lane, rules: Self.discretionary, isLarge: true, limit: 9).map(\.id),
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: false, limit: 9).map(\.id),
                try transaction.readyTasks(lane: lane, rules: Self.expensive, isLarge: false, limit: 9)
            )
        }
        // A class whose only task is paused is not ready.
        #expect(rules == [TransferRules(), Self.discretionary])
        #expect(small == [records[2].id, records[0].id])
        #expect(large == [records[3].id])
        #expect(empty == [records[1].id])
        #expect(held.isEmpty)
    }

    @Test func `A change of rules moves a task to another class`() async throws {
        let store = try await StoreFixture.inMemory()
        var record = try await store.write { try $0.insert(Self.waiting(Self.discretionary)) }
        record.rules = Self.expensive
        record.relaxesAt = 7
        record.isDiscretionForced = true
        let changed = record
        // Other updates of the task do not change its rules.
        try await store.write { try $0.update(changed) }
        #expect(try await store.read { try $0.readyRules(lane: changed.lane) } == [Self.discretionary])
        try await store.write { try $0.putRules(changed) }
        #expect(try await store.read { try $0.readyRules(lane: changed.lane) } == [Self.expensive])
        let read = try await store.read { try $0.task(changed.id) }
        #expect(read?.rules == Self.expensive)
        #expect(read?.relaxesAt == 7)
        #expect(read?.isDiscretionForced == true)
    }

    @Test func `The store finds the tasks whose requirements relax next`() async throws {
        let store = try await StoreFixture.inMemory()
        let ids = try await store.write { transaction in
            try [30.0, 10, 20, nil].map { time in
                var record = Self.waiting(Self.discretionary)
                record.relaxesAt = time
                return try transaction.insert(record).id
            }
        }
        #expect(try await store.read { try $0.nextTimes().relaxesAt } == 10)
        #expect(try await store.read { try $0.tasksToLoosen(bootSeconds: 20, limit: 9).map(\.id) } == [ids[1], ids[2]])
        #expect(try await store.read { try $0.tasksToLoosen(bootSeconds: 99, limit: 1).map(\.id) } == [ids[1]])
        try await store.write { transaction in
            guard var record = try transaction.task(ids[1]) else { return }
            record.state = .suspended
            try transaction.update(record)
        }
        #expect(try await store.read { try $0.nextTimes().relaxesAt } == 20)
    }

    @Test func `The store lifts forced discretion for one app only`() async throws {
        let store = try await StoreFixture.inMemory()
        let apps = ["org.example.a", "org.example.b"].map { AppID(rawValue: $0) }
        let ids = try await store.write { transaction in
            try apps.map { app in
                _ = try transaction.putSession(app, "s", SessionSettings())
                return try [true, true, false].map { isForced in
                    var record = TaskRecord.waiting(session: SessionID(app: app, identifier: "s"))
                    record.rules = Self.discretionary
                    record.relaxesAt = 50
                    record.isDiscretionForced = isForced
                    return try transaction.insert(record).id
                }
            }
        }
        try await store.write { transaction in
            guard var ended = try transaction.task(ids[0][1]) else { return }
            ended.state = .cancelled
            ended.endedAt = 1
            try transaction.update(ended)
        }
        #expect(try await store.write { try $0.liftForcedDiscretion(of: apps[0]) } == 1)
        #expect(try await store.write { try $0.liftForcedDiscretion(of: apps[0]) } == 0)
        var lifted = Self.discretionary
        lifted.discretion = .none
        let records = try await store.read { transaction in try ids.flatMap(\.self).map { try transaction.task($0) } }
        #expect(records.map { $0?.rules } == [lifted] + Array(repeating: Self.discretionary, count: 5))
        #expect(records.map { $0?.relaxesAt } == [nil] + Array(repeating: 50, count: 5))
        #expect(records.map { $0?.isDiscretionForced } == [false, true, false, true, true, false])
    }

    /// A test that a million blocked tasks do not slow down the query of classes, because the query never reads them.
    @Test func `A scheduling pass searches only in the index`() async throws {
        let fixture = try StoreFixture()
        try fixture.open().close()
        let database = try DatabaseQueue(path: fixture.paths.database.path)
        defer { try? database.close() }
        let plans = try await database.read { db in
            func plan(_ sql: String, _ count: Int) throws -> [String] {
                let arguments = StatementArguments(Array(repeating: 1, count: count))
                return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
            }
            return (
                try plan(QueueStatements.rules, 1), try plan(QueueStatements.tasks, 5),
                try plan(QueueStatements.lanes, 0)
            )
        }
        // Each class takes one step in the order of the index, so that its first row is the wanted one.
        let searches = plans.0.filter { $0.contains("tasks") }
        #expect(searches.count == 2)
        #expect(searches.allSatisfy { $0.hasPrefix("SEARCH tasks USING INDEX tasks_ready (lane=?") }, "\(plans.0)")
        #expect(!plans.0.contains { $0.contains("TEMP") }, "\(plans.0)")
        #expect(
            plans.2.filter { $0.contains("tasks") } == ["SEARCH tasks USING INDEX tasks_ready (lane=?)"],
            "\(plans.2)")
        #expect(
            plans.1 == ["SEARCH tasks USING INDEX tasks_ready (lane=? AND rules=? AND large=? AND <expr>=?)"],
            "\(plans.1)")
    }
}
