import Foundation
import GRDB
import NightshiftAPI
import Store
import TestSupport
import Testing

/// Tests of opening a database after a crash at any point of its creation, and while another program uses it.
@Suite struct FirstOpeningTests {
    /// Creates an unfinished database with its rollback journal, as `sqlite3` leaves it when it is killed before its
    /// first commit.
    private func hotJournal(_ fixture: StoreFixture) async throws {
        let script = """
            import os, sqlite3, sys
            db = sqlite3.connect(sys.argv[1], isolation_level=None)
            db.execute("PRAGMA cache_size = 1")
            db.execute("BEGIN IMMEDIATE")
            db.execute("CREATE TABLE made (text TEXT)")
            for number in range(200): db.execute("INSERT INTO made VALUES (?)", ("x" * 3000,))
            os.kill(os.getpid(), 9)
            """
        let outcome = try await ChildProcess.run("python3", ["-c", script, fixture.paths.database.path])
        #expect(outcome.code != 0)
    }

    @Test func `The store rolls back the hot journal of a database that is being created`() async throws {
        let fixture = try StoreFixture()
        try await hotJournal(fixture)
        let journal = fixture.paths.database.path + "-journal"
        let length = try FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int ?? 0
        try #require(length > 0, "the journal has to be there")
        let size = try FileManager.default.attributesOfItem(atPath: fixture.paths.database.path)[.size] as? Int ?? 0
        try #require(size > 0, "something of it has to be written")
        let store = try fixture.open()
        #expect(try await store.read { try $0.taskCount() } == 0)
        try store.close()
    }

    @Test func `The store opens a partly created database`() throws {
        for leave in [
            { (_: StoreFixture) in },
            { try Data().write(to: $0.paths.database) },
            { fixture in
                let database = try DatabaseQueue(path: fixture.paths.database.path)
                try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
                try database.close()
            },
            { fixture in
                try Data().write(to: fixture.paths.database)
                try Data().write(to: URL(filePath: fixture.paths.database.path + "-journal"))
            },
            { fixture in
                // All files are created except the marker file.
                try fixture.open().close()
                try FileManager.default.removeItem(at: fixture.paths.state.appending(path: "database-created"))
            },
        ] as [(StoreFixture) throws -> Void] {
            let fixture = try StoreFixture()
            try leave(fixture)
            try fixture.open().close()
            try fixture.open().close()
        }
    }

    @Test func `A write waits for a database that another program has locked`() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.write { try $0.putSession(.terminal, SessionSettings()) }
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: fixture.paths.database.path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        async let inserted = store.write { try $0.insert(.waiting()).id }
        // The write cannot complete before the other connection unlocks the database. The test checks that the write
        // did not fail in the meantime.
        try await passTime(.milliseconds(200), because: "a write that does not wait would have failed by then")
        try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        #expect(try await inserted == TaskID(1))
        try other.close()
        try store.close()
    }
}
