import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of the journal: pages, histories, and the deletion of old entries.
@Suite struct JournalTests {
    private func entry(_ task: TaskID?, _ detail: String) -> JournalEntry {
        JournalEntry(time: Date(timeIntervalSince1970: 1_800_000_000), decision: .started, task: task, detail: detail)
    }

    @Test func `Pages of the journal follow one another without gaps`() async throws {
        let store = try await StoreFixture.inMemory()
        try await store.write { [self] transaction in
            for number in 0..<25 { try transaction.record(entry(nil, "\(number)")) }
        }
        var found: [String] = []
        var after: Int64 = 0
        while true {
            let page = try await store.read { [after] in try $0.journal(after: after, limit: 10) }
            guard let last = page.last else { break }
            found += page.compactMap(\.detail)
            after = last.id
        }
        #expect(found == (0..<25).map(String.init))
        #expect(store.journalSignal.last == 25)
        #expect(try await store.read { try $0.firstJournalEntry() } == 1)
    }

    @Test func `The journal finds entries by task and by session`() async throws {
        let store = try await StoreFixture.inMemory()
        let other = SessionID(rawValue: "other")
        let (one, two) = try await store.write { [self] transaction in
            try transaction.putSession(other, SessionSettings())
            let one = try transaction.insert(.waiting()).id
            let two = try transaction.insert(.waiting(session: other)).id
            for number in 0..<4 {
                try transaction.record(entry(one, "one \(number)"))
                try transaction.record(entry(two, "two \(number)"))
            }
            try transaction.record(entry(nil, "service"))
            return (one, two)
        }
        let (ofOne, ofOther, history) = try await store.read { transaction in
            (
                try transaction.journal(after: 0, tasks: [one], limit: 99).compactMap(\.detail),
                try transaction.journal(after: 4, session: other, limit: 99).compactMap(\.detail),
                try transaction.history(of: two, limit: 2).compactMap(\.detail)
            )
        }
        #expect(ofOne == (0..<4).map { "one \($0)" })
        #expect(ofOther == ["two 2", "two 3"])
        #expect(history == ["two 2", "two 3"])
        // The journal entries of a deleted task stay.
        try await store.write { try $0.delete(one) }
        #expect(try await store.read { try $0.history(of: one, limit: 9) }.count == 4)
        #expect(try await store.read { try $0.journal(after: 0, session: other, limit: 99) }.count == 4)
    }

    @Test func `The journal reads waits and errors back unchanged`() async throws {
        let store = try await StoreFixture.inMemory()
        let since = Date(timeIntervalSince1970: 1_800_000_001)
        let entry = JournalEntry(
            id: 1, time: since, decision: .held, task: TaskID(9),
            wait: Wait(reason: .retryAfter, since: since, until: since.addingTimeInterval(5), detail: "later"),
            error: TransferFailure(.serverUnavailable, "busy", status: 503))
        try await store.write { try $0.record(entry) }
        #expect(try await store.read { try $0.journal(after: 0, limit: 9) } == [entry])
    }

    @Test func `The journal reads the inputs of a decision back`() async throws {
        let store = try await StoreFixture.inMemory()
        var entry = entry(nil, "held")
        entry.inputs = ["battery": "34", "power": "battery"]
        let written = entry
        try await store.write { try $0.record(written) }
        #expect(try await store.read { try $0.journal(after: 0, limit: 9) }.map(\.inputs) == [entry.inputs])
    }

    @Test func `The journal finds entries by app and by time`() async throws {
        let store = try await StoreFixture.inMemory()
        let app = AppID(rawValue: "org.example.Photos")
        try await store.write { [self] transaction in
            _ = try transaction.putSession(app, "s", SessionSettings())
            let task = try transaction.insert(.waiting(session: SessionID(app: app, identifier: "s"))).id
            let other = try transaction.insert(.waiting()).id
            for (number, id) in [task, other].enumerated() { try transaction.record(entry(id, "task \(number)")) }
            for (number, time) in [1_800_000_100.0, 1_800_000_050, 1_800_000_200].enumerated() {
                try transaction.record(
                    JournalEntry(
                        time: Date(timeIntervalSince1970: time), decision: .appWoken, app: number == 1 ? nil : app,
                        detail: "app \(number)"))
            }
        }
        func details(app: AppID?, since: Double?) async throws -> [String] {
            try await store.read { try $0.journal(after: 0, app: app, since: since, limit: 9) }.compactMap(\.detail)
        }
        #expect(try await details(app: app, since: nil) == ["task 0", "app 0", "app 2"])
        // The clock was set back in between. An entry that was written later counts as later.
        #expect(try await details(app: nil, since: 1_800_000_060) == ["app 0", "app 1", "app 2"])
        #expect(try await details(app: app, since: 1_800_000_150) == ["app 2"])
        #expect(try await details(app: nil, since: 1_800_000_900).isEmpty)
    }

    @Test func `The journal deletes the oldest entries when there are too many`() async throws {
        let store = try await StoreFixture.inMemory()
        let count = Limits.journalEntries + 5_000
        try await store.write { transaction in
            let entry = JournalEntry(time: Date(timeIntervalSince1970: 1), decision: .started)
            for _ in 0..<count { try transaction.record(entry) }
        }
        let (first, last) = try await store.read { (try $0.firstJournalEntry() ?? 0, try $0.lastJournalEntry()) }
        #expect(last == count)
        #expect(last - first < Limits.journalEntries + 1_024)
        #expect(last - first >= Limits.journalEntries - 1)
    }

    @Test func `The store never reuses numbers of entries and tasks`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let id = try await store.write { [self] transaction in
            try transaction.putSession(.terminal, SessionSettings())
            let id = try transaction.insert(.waiting()).id
            try transaction.record(entry(id, "gone"))
            try transaction.delete(id)
            return id
        }
        try store.close()
        try fixture.edit("DELETE FROM journal")
        let again = try fixture.open()
        #expect(again.journalSignal.last == 1)
        let next = try await again.write { try $0.insert(.waiting()) }
        #expect(next.id > id)
        #expect(next.taskIdentifier == 2)
    }
}
