import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of opening a database, and of databases that the store refuses.
@Suite struct OpeningTests {
    @Test func `A reopened store contains the written data`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        let id = try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            try transaction.record(JournalEntry(time: .now, decision: .serviceStarted))
            return try transaction.insert(.waiting()).id
        }
        #expect(store.journalSignal.last == 1)
        try store.close()
        let again = try fixture.open()
        #expect(try await again.read { try $0.task(id) }?.request.url == "https://example.org/file")
        #expect(again.journalSignal.last == 1)
    }

    @Test func `A closed store refuses reads and writes`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try store.close()
        await #expect(throws: StoreError.self) {
            try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        }
        await #expect(throws: StoreError.self) { try await store.read { try $0.taskCount() } }
    }

    @Test func `A newer database is refused and not changed`() throws {
        let fixture = try StoreFixture()
        try fixture.open().close()
        try fixture.edit("INSERT INTO grdb_migrations VALUES ('9999 from the future')")
        let before = try fixture.contents()
        #expect(code { try fixture.open() } == .newerVersion)
        #expect(try fixture.contents()["nightshift.sqlite"] == before["nightshift.sqlite"])
    }

    @Test(arguments: ["not a database", "SQLite format 3\u{0}and then nothing that makes sense, for some bytes more"])
    func `A file that is not a database is refused and not changed`(_ text: String) throws {
        let fixture = try StoreFixture()
        let garbage = Data((text + String(repeating: "x", count: 5_000)).utf8)
        try garbage.write(to: fixture.paths.database)
        #expect(code { try fixture.open() } == .damaged)
        #expect(try Data(contentsOf: fixture.paths.database) == garbage)
    }

    @Test func `A database with a damaged page is refused and not changed`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { transaction in
            try transaction.putSession(.terminal, SessionSettings())
            for number in 0..<500 { _ = try transaction.insert(.waiting("https://example.org/\(number)")) }
        }
        try store.close()
        var bytes = try Data(contentsOf: fixture.paths.database)
        let middle = bytes.count / 2 / 4_096 * 4_096
        bytes.replaceSubrange(middle..<middle + 2_048, with: Data(repeating: 0xa5, count: 2_048))
        try bytes.write(to: fixture.paths.database)
        #expect(code { try fixture.open() } == .damaged)
        #expect(try Data(contentsOf: fixture.paths.database) == bytes)
    }

    @Test func `A missing or emptied database is not replaced`() throws {
        let fixture = try StoreFixture()
        try fixture.open().close()
        try Data().write(to: fixture.paths.database)
        #expect(code { try fixture.open() } == .missing)
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.paths.state.path)
        where name.hasPrefix("nightshift.sqlite") {
            try FileManager.default.removeItem(at: fixture.paths.state.appending(path: name))
        }
        #expect(code { try fixture.open() } == .missing)
        #expect(!FileManager.default.fileExists(atPath: fixture.paths.database.path))
    }

    @Test func `Opening a database at an unusable path gives an input/output error`() throws {
        let fixture = try StoreFixture()
        try FileManager.default.createDirectory(at: fixture.paths.database, withIntermediateDirectories: true)
        #expect(code { try fixture.open() } == .inputOutput)
    }

    private func code(_ body: () throws -> Store) -> StoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }
}
