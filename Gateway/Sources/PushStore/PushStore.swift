import Foundation
import GRDB
import Glibc
import GroupCommits

/// The gateway's SQLite database. It contains providers, devices, pending pushes and the delivery log.
///
/// Operations are executed in the order of the requests. Operations of several callers share one transaction and one
/// sync of the disk. Thread-safe.
package final class PushStore: Sendable {
    private let writer: any DatabaseWriter
    private let commits: GroupCommit<StoreError>

    /// Opens or creates the database at `path`.
    ///
    /// - Throws: ``StoreError``. A database that a newer version wrote is refused and not changed.
    package convenience init(path: String) throws(StoreError) {
        Self.keepPrivate(path)
        do {
            try self.init(writer: DatabasePool(path: path, configuration: Self.configuration))
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes the file accessible only to its owner, even if others may enter the directory. SQLite gives its other
    /// files the same mode.
    private static func keepPrivate(_ path: String) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor < 0 else {
            Glibc.close(descriptor)
            return
        }
        // Change the mode without opening the file: closing it would release the SQLite locks of this process. If
        // the mode cannot be changed, SQLite reports whether the file is usable.
        for file in [path, path + "-wal", path + "-shm"] { chmod(file, 0o600) }
    }

    /// Creates a store in memory, for tests.
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
                "The database was written by a newer version and was not changed. Install that version again.")
        }
        // With FULL, a transaction survives a power cut once its commit has returned. GRDB's pool would set NORMAL,
        // which does not sync a commit.
        let level = try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard level == 2 else { throw StoreError(.other, "The database does not sync its commits.") }
        try Migrations.all.migrate(writer)
        commits = GroupCommit(
            execute: { body in writer.asyncWriteWithoutTransaction { body($0) } }, failure: { StoreError($0) })
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 2
        configuration.prepareDatabase { db in
            // A cache of 16 MiB holds the upper levels of the tables and the latest writes.
            try db.execute(sql: "PRAGMA cache_size = -16384")
            try db.execute(sql: "PRAGMA journal_size_limit = 16777216")
        }
        return configuration
    }

    /// The number of operations that wait for the disk.
    package var depth: Int { commits.depth }

    /// Runs `body` in a transaction shared with others, and calls `completion` when the transaction is on the disk.
    /// Returns at once.
    package func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        commits.enqueue({ try body(PushTransaction(db: $0)) }, completion: completion)
    }

    /// Runs `body`, which only reads, after all earlier operations, and calls `completion`. Returns at once. `body`
    /// gets a result even if the transaction that it shares cannot be written.
    package func enqueueReading<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        commits.enqueue({ try body(PushTransaction(db: $0)) }, isReading: true, completion: completion)
    }

    /// Runs `body` in a transaction shared with others, and returns when the transaction is on the disk.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await commits.run { try body(PushTransaction(db: $0)) }
    }

    /// Reads from the database. A cancellation of the caller's task does not interrupt the read.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (PushTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        // GRDB cancels a read when the task is cancelled, so run the read in an unstructured task.
        let reading = Task { [writer] in try await writer.read { try body(PushTransaction(db: $0)) } }
        do {
            return try await reading.value
        } catch {
            throw StoreError(error)
        }
    }

    /// Returns a description of the file's corruption; nil if the file is intact.
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

/// The operations within one transaction.
package struct PushTransaction {
    let db: Database
}

extension PushTransaction {
    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
