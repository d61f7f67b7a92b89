import Foundation
import GRDB
import Glibc

/// The gateway's one SQLite database: who may send what to whom, what is stored, and what became of each push.
///
/// What is asked for is done in that order; many callers share one transaction and one sync of the disk. Thread-safe.
package final class PushStore: Sendable {
    private let writer: any DatabaseWriter
    private let commits: GroupCommit

    /// Opens or creates the database at `path`.
    ///
    /// - Throws: ``StoreError``; a database of a newer version is refused, and left as it is.
    package convenience init(path: String) throws(StoreError) {
        Self.keepPrivate(path)
        do {
            try self.init(writer: DatabasePool(path: path, configuration: Self.configuration))
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes the file for its owner alone, in whatever directory it lies; SQLite gives its other files the same mode.
    private static func keepPrivate(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor < 0 else {
            Glibc.close(descriptor)
            return
        }
        // An existing database is not opened: closing it would release SQLite's locks of this process. Where the mode
        // cannot be changed, SQLite says whether the file can be used.
        for file in [path, path + "-wal", path + "-shm"] { chmod(file, 0o600) }
    }

    /// A store that lives in memory, for tests.
    package convenience init(inMemory: Void) throws(StoreError) {
        do {
            try self.init(writer: DatabaseQueue(configuration: Self.configuration))
        } catch {
            throw StoreError(error)
        }
    }

    private init(writer: any DatabaseWriter) throws {
        self.writer = writer
        let isSuperseded = try writer.read { db in
            try db.tableExists("grdb_migrations") && Migrations.all.hasBeenSuperseded(db)
        }
        guard !isSuperseded else {
            throw StoreError(
                .newerVersion,
                "The database was written by a newer version. Nothing was changed; install that version again.")
        }
        // A commit that has returned survives a power cut. GRDB's pool would set NORMAL, which does not sync a commit.
        let level = try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard level == 2 else { throw StoreError(.other, "The database does not sync its commits.") }
        try Migrations.all.migrate(writer)
        commits = GroupCommit(writer: writer)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { db in
            // 16 MiB of pages: the tables' upper levels and what was written last.
            try db.execute(sql: "PRAGMA cache_size = -16384")
            try db.execute(sql: "PRAGMA journal_size_limit = 16777216")
        }
        return configuration
    }

    /// How much waits for the disk.
    package var depth: Int { commits.depth }

    /// Runs `body` in a transaction shared with others, and calls `completion` when that is on the disk. Returns at
    /// once.
    package func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        commits.enqueue({ try body(PushTransaction(db: $0)) }, completion: completion)
    }

    /// Runs `body`, which only reads, behind what was asked for before it, and calls `completion`. It has its answer
    /// also where the transaction that it shared could not be written. Returns at once.
    package func enqueueReading<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        commits.enqueue({ try body(PushTransaction(db: $0)) }, isReading: true, completion: completion)
    }

    /// Runs `body` in a transaction shared with others, and returns when that is on the disk.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Reads what is on the disk, to its end also where the caller's task is cancelled.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        // The database's own reads are cancelled with their task: this one is nobody's.
        let reading = Task { [writer] in try await writer.read { try body(PushTransaction(db: $0)) } }
        do {
            return try await reading.value
        } catch {
            throw StoreError(error)
        }
    }

    /// Says what is wrong with the file; nil where it is whole.
    package func check() async throws(StoreError) -> String? {
        do {
            let answer = try await writer.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
            return answer == "ok" ? nil : answer
        } catch {
            throw StoreError(error)
        }
    }

    func closeDatabase() throws {
        try writer.close()
    }
}

/// What can be done within one transaction.
package struct PushTransaction {
    let db: Database
}

extension PushTransaction {
    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
