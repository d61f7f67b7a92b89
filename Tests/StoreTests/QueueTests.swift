import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of ready tasks, their order, and the times at which they change.
@Suite struct QueueTests {
    @Test func `Ready tasks of a size class are ordered by priority, then age`() async throws {
        let store = try await StoreFixture.inMemory()
        let (lane, ids) = try await store.write { transaction in
            let records = try [
                TaskRecord.waiting(priority: 0.5), .waiting(priority: 0.9), .waiting(priority: 0.5),
                .waiting(priority: 0.7, large: true), .waiting(priority: 0.2, large: true),
            ].map { try transaction.insert($0) }
            return (records[0].lane, records.map(\.id))
        }
        let (small, large, two) = try await store.read { transaction in
            (
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: false, limit: 10).map(\.id),
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: true, limit: 10).map(\.id),
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: false, limit: 2).map(\.id)
            )
        }
        #expect(small == [ids[1], ids[0], ids[2]])
        #expect(large == [ids[3], ids[4]])
        #expect(two == [ids[1], ids[0]])
    }

    @Test func `A query about one session does not read tasks of other sessions`() async throws {
        let fixture = try StoreFixture()
        try fixture.open().close()
        let database = try DatabaseQueue(path: fixture.paths.database.path)
        defer { try? database.close() }
        let page = "\(TaskStatements.rows) WHERE tasks.id > ? AND sessions.identifier = ?"
        let (pages, wakes, questions) = try await database.read { db in
            func plan(_ sql: String, _ count: Int) throws -> [String] {
                let arguments = StatementArguments(Array(repeating: 1, count: count))
                return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
            }
            let trigger =
                try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = 'question_gone'") ?? ""
            let begin = try #require(trigger.range(of: "UPDATE tasks"))
            let change = String(trigger[begin.lowerBound...].prefix { $0 != ";" }).replacingOccurrences(
                of: "OLD.session", with: "?1")
            return (
                [
                    try plan("\(page) \(TaskStatements.page)", 3),
                    try plan("\(page) AND tasks.state IN (?, ?) \(TaskStatements.page)", 5),
                ], try plan(WakeStatements.sessions, 0), try plan(change, 1)
            )
        }
        for plan in pages {
            #expect(plan.contains("SEARCH tasks USING INDEX tasks_of_session (session=? AND rowid>?)"), "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP") }, "\(plan)")
        }
        #expect(wakes.contains("SEARCH tasks USING INDEX tasks_unfinished (session=? AND ended_at=?)"), "\(wakes)")
        #expect(
            questions.first == "SEARCH tasks USING INDEX tasks_asked (session=? AND question=?)", "\(questions)")
    }

    @Test func `Tasks that have failed have a queue of their own`() async throws {
        let store = try await StoreFixture.inMemory()
        let (lane, ids) = try await store.write { transaction in
            let records = try [(0, 0.5), (3, 0.5), (1, 0.5), (2, 0.9), (0, 0.5)].map { fruitless, priority in
                var record = try transaction.insert(.waiting(priority: priority))
                record.fruitless = fruitless
                try transaction.update(record)
                return record
            }
            return (records[0].lane, records.map(\.id))
        }
        let (fresh, failed) = try await store.read { transaction in
            (
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: false, limit: 9),
                try transaction.readyTasks(
                    lane: lane, rules: TransferRules(), isLarge: false, hasFailed: true, limit: 9)
            )
        }
        #expect(fresh.map(\.id) == [ids[0], ids[4]])
        #expect(failed.map(\.id) == [ids[3], ids[2], ids[1]])
        #expect(failed.map(\.fruitless) == [2, 1, 3])
    }

    @Test func `A late record of an attempt does not undo a newer update`() async throws {
        let store = try await StoreFixture.inMemory()
        let (task, row) = try await store.write { transaction in
            var record = try transaction.insert(.waiting())
            let id = record.id
            record.attempts = 1
            record.fruitless = 1
            try transaction.noteAttempts([record])
            var later = record
            later.failures = 1
            try transaction.update(later)
            // A late record of an attempt does not change the row.
            record.fruitless = 9
            try transaction.noteAttempts([record])
            return (later, try transaction.task(id))
        }
        #expect(row?.fruitless == 1 && row?.failures == 1 && row?.attempts == task.attempts)
    }

    @Test func `Tasks of each proxy have a queue of their own`() async throws {
        let store = try await StoreFixture.inMemory()
        let lanes = try await store.write { transaction in
            try [nil, "", "http://a:1", "http://b:1", nil, "http://ada:secret@a:1"].map { proxy in
                var record = TaskRecord.waiting()
                record.request.proxy = proxy
                return try transaction.insert(record).lane
            }
        }
        #expect(Set(lanes).count == 4 && lanes[0] == lanes[4] && lanes[2] == lanes[5])
        let proxies = try await store.read { try $0.readyLanes().map(\.proxy) }
        #expect(Set(proxies) == [nil, "", "http://a:1", "http://b:1"])
    }

    @Test func `A retry can end waits for a retry or disk space, but not a relaunch delay`() async throws {
        let store = try await StoreFixture.inMemory()
        let reasons: [WaitReason] = [.retry, .retryAfter, .diskSpace, .relaunchDelay]
        let ids = try await store.write { transaction in
            try reasons.map { reason in
                var record = try transaction.insert(.waiting())
                record.notBefore = 2_000
                record.failures = 3
                record.fruitless = 3
                record.wait = StoredWait(reason: reason, since: 1, detail: nil)
                try transaction.update(record)
                return record.id
            }
        }
        #expect(try await store.write { try $0.endAllWaits() } == 3)
        let records = try await store.read { transaction in try ids.map { try transaction.task($0) } }
        #expect(records.map { $0?.notBefore } == [nil, nil, nil, 2_000])
        #expect(records.map { $0?.failures } == [0, 0, 0, 3] && records.map { $0?.fruitless } == [0, 0, 0, 3])
    }

    @Test func `Each session has one queue per origin`() async throws {
        let store = try await StoreFixture.inMemory()
        let other = SessionID(rawValue: "other")
        try await store.write { transaction in
            var settings = SessionSettings()
            settings.httpMaximumConnectionsPerHost = 3
            try transaction.putSession(other, settings)
            _ = try transaction.insert(.waiting())
            _ = try transaction.insert(.waiting(origin: "http://a:80"))
            _ = try transaction.insert(.waiting(session: other))
            _ = try transaction.insert(.waiting(session: other))
            var done = try transaction.insert(.waiting(session: other, origin: "http://done:80"))
            done.state = .completed
            done.endedAt = 1
            try transaction.update(done)
        }
        let lanes = try await store.read { try $0.readyLanes() }
        #expect(
            Set(lanes.map { "\($0.session) \($0.origin) \($0.maximumConnections)" }) == [
                "terminal https://example.org:443 6", "terminal http://a:80 6", "other https://example.org:443 3",
            ])
    }

    @Test func `Pauses and begin dates block tasks until their time`() async throws {
        let store = try await StoreFixture.inMemory()
        let lane = try await store.write { transaction in
            var paused = TaskRecord.waiting("http://paused/")
            paused.notBefore = 1_100
            paused.deadline = 5_000
            var later = TaskRecord.waiting("http://later/")
            later.beginAt = 1_800_000_500
            var both = TaskRecord.waiting("http://both/")
            both.notBefore = 1_200
            both.beginAt = 1_800_000_100
            return try [paused, later, both].map { try transaction.insert($0) }[0].lane
        }
        func ready() async throws -> [String] {
            try await store.read { transaction in
                try transaction.readyTasks(lane: lane, rules: TransferRules(), isLarge: false, limit: 9)
                    .compactMap { try transaction.task($0.id)?.request.url }
            }
        }
        #expect(try await ready().isEmpty)
        #expect(try await store.read { try $0.readyLanes().isEmpty })
        let times = try await store.read { try $0.nextTimes() }
        #expect(times.notBefore == 1_100)
        #expect(times.beginAt == 1_800_000_100)
        #expect(times.deadline == 5_000)
        try await store.write { try $0.releaseDue(bootSeconds: 1_100, wallSeconds: 1_800_000_100) }
        #expect(try await ready() == ["http://paused/"])
        try await store.write { try $0.releaseDue(bootSeconds: 1_199.9, wallSeconds: 1_800_000_500) }
        #expect(try await ready() == ["http://paused/", "http://later/"])
        try await store.write { try $0.releaseDue(bootSeconds: 1_200, wallSeconds: 0) }
        #expect(try await ready() == ["http://paused/", "http://later/", "http://both/"])
    }

    @Test func `Only pauses after failures can end early`() async throws {
        let store = try await StoreFixture.inMemory()
        let ids = try await store.write { transaction in
            try [(WaitReason.retry, "http://a:80"), (.retryAfter, "http://a:80"), (.retry, "http://b:80")].map {
                reason, origin in
                var record = try transaction.insert(.waiting(origin: origin))
                record.notBefore = 2_000
                record.wait = StoredWait(reason: reason, since: 1, detail: nil)
                try transaction.update(record)
                return record.id
            }
        }
        func paused() async throws -> [Bool] {
            try await store.read { transaction in try ids.map { try transaction.task($0)?.notBefore != nil } }
        }
        try await store.write { try $0.endPauses(origin: "http://a:80") }
        #expect(try await paused() == [false, true, true])
        try await store.write { try $0.endPauses(origin: nil) }
        #expect(try await paused() == [false, true, false])
    }

    @Test func `The store lists overdue tasks with the oldest deadline first`() async throws {
        let store = try await StoreFixture.inMemory()
        let ids = try await store.write { transaction in
            try [30.0, 10, 20, nil].map { deadline in
                var record = TaskRecord.waiting()
                record.deadline = deadline
                return try transaction.insert(record).id
            }
        }
        #expect(try await store.read { try $0.overdueTasks(bootSeconds: 20, limit: 9) } == [ids[1], ids[2]])
        #expect(try await store.read { try $0.overdueTasks(bootSeconds: 99, limit: 2) } == [ids[1], ids[2]])
        #expect(try await store.read { try $0.overdueTasks(bootSeconds: 9, limit: 2) }.isEmpty)
    }

    @Test func `The store deletes a queue that has no tasks`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { transaction in
            let id = try transaction.insert(.waiting()).id
            let kept = try transaction.insert(.waiting(origin: "http://kept:80"))
            try transaction.delete(id)
            try transaction.deleteEmptyLanes()
            #expect(try transaction.readyLanes().map(\.id) == [kept.lane])
            // The queue is created again with the next task.
            _ = try transaction.insert(.waiting())
            #expect(try transaction.readyLanes().count == 2)
        }
    }
}
