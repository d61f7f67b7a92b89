import Executors
import Foundation
package import GRDB
import GroupCommits
package import NightshiftAPI
import Synchronization

/// The SQLite database of a service. It contains the accepted tasks, their progress, and every decision.
///
/// Writes of many callers share one transaction and one sync of the disk. A write returns only after its transaction is
/// on disk. The class is thread-safe.
package final class Store: Sendable {
    private let writer: any DatabaseWriter
    private let commits: GroupCommit<StoreError>
    /// The threads that read, as many as there are connections for readers.
    private let readers = WorkQueue(width: Store.maximumReaders)
    /// The signal for event streams that the journal has grown.
    package let journalSignal: GrowthSignal
    /// The signal for a new message to an app.
    package let messageSignal: GrowthSignal
    /// The signal for a new wake from a source other than a session.
    package let wakeSignal: GrowthSignal
    /// The tasks that were found to have unreadable rows.
    package let unreadable: UnreadableTasks
    private let isClosed = Mutex(false)
    private let waits: LockWaits

    /// Opens or creates the database of `paths`, and converts its boot times to the current boot.
    ///
    /// - Throws: ``StoreError``. A database that is newer, damaged or missing is refused, and never replaced.
    package convenience init(paths: ServicePaths, now: ClockReading) throws(StoreError) {
        let path = paths.database.path
        let marker = Self.marker(paths)
        let waits = LockWaits()
        do {
            // The file must not be opened for writing before the check, because that would change a database that must
            // be refused. A rollback journal shows that the creation of the database was interrupted. In this case, the
            // half-written part must be rolled back before anything can be read.
            let isBeingMade = FileManager.default.fileExists(atPath: "\(path)-journal")
            try Self.check(paths, isBeingMade ? Self.configuration(waits) : Self.readOnly)
            try self.init(
                writer: DatabasePool(path: path, configuration: Self.configuration(waits)), waits: waits, now: now)
            if !FileManager.default.fileExists(atPath: marker) {
                try Data().write(to: URL(filePath: marker))
            }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Checks the database of `paths`, and changes nothing. A database that does not exist yet is accepted.
    ///
    /// - Throws: ``StoreError`` if the database would be refused.
    package static func check(_ paths: ServicePaths) throws(StoreError) {
        let path = paths.database.path
        // A start rolls an interrupted creation back. Reading would change the file as well.
        guard !FileManager.default.fileExists(atPath: "\(path)-journal") else { return }
        do {
            try check(paths, readOnly)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    private static func check(_ paths: ServicePaths, _ configuration: Configuration) throws {
        let (path, marker) = (paths.database.path, marker(paths))
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        if FileManager.default.fileExists(atPath: marker), size ?? 0 == 0 {
            throw StoreError(
                .missing,
                "The database \(path) existed before and is now \(size == nil ? "gone" : "empty"). Restore a copy of it; or, "
                    + "to start without its transfers, remove \(marker) and start again.")
        }
        if let size { try check(DatabaseQueue(path: path, configuration: configuration), size: size) }
    }

    /// The path of a file that exists once the database has been created.
    private static func marker(_ paths: ServicePaths) -> String {
        paths.state.appending(path: "database-created").path
    }

    /// Creates a store in memory, for tests and simulations.
    package convenience init(inMemory now: ClockReading) throws(StoreError) {
        let waits = LockWaits()
        do {
            try self.init(
                writer: DatabaseQueue(configuration: Self.configuration(waits)), waits: waits, now: now)
        } catch {
            throw StoreError(error)
        }
    }

    private init(writer: any DatabaseWriter, waits: LockWaits, now: ClockReading) throws {
        self.writer = writer
        self.waits = waits
        let unreadable = UnreadableTasks()
        self.unreadable = unreadable
        // A commit that has returned must survive a power cut. The level is set here and not on opening, because GRDB's
        // pool sets its writer to NORMAL, which does not sync a commit in WAL mode.
        let level = try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard level == 2 else { throw StoreError(.other, "The database does not sync its commits.") }
        try Migrations.all.migrate(writer)
        let (entry, message, wake) = try writer.write { db in
            let transaction = StoreTransaction(db: db, unreadable: unreadable)
            try transaction.moveIntoPresentBoot(now)
            return (try transaction.lastJournalEntry(), try transaction.lastMessage(), try transaction.lastWake())
        }
        journalSignal = GrowthSignal(last: entry)
        messageSignal = GrowthSignal(last: message)
        wakeSignal = GrowthSignal(last: wake)
        let writes = WorkQueue()
        // GRDB's asynchronous calls would use libdispatch, which wakes the process each second.
        commits = GroupCommit(
            execute: { body in writes.add { writer.writeWithoutTransaction { body($0) } } },
            failure: { StoreError($0) })
    }

    /// Throws if the database must be refused. The check does not change the database.
    private static func check(_ database: DatabaseQueue, size: Int) throws {
        defer { try? database.close() }
        let (isSuperseded, damage) = try database.read { db in
            (
                try db.tableExists("grdb_migrations") && Migrations.all.hasBeenSuperseded(db),
                size <= checkedSize ? try String.fetchOne(db, sql: "PRAGMA quick_check(1)") : nil
            )
        }
        if let damage, damage != "ok" { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: damage) }
        guard !isSuperseded else {
            throw StoreError(
                .newerVersion,
                "The database was written by a newer version of Nightshift. Nothing was changed; install that version again."
            )
        }
    }

    /// The largest size in bytes of a database that is checked completely on opening, which takes about half a second.
    /// In a larger database, damage is found when the page is used.
    private static let checkedSize = 128 << 20

    private static var readOnly: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(LockWaits.usual)
        configuration.readonly = true
        return configuration
    }

    private static func configuration(_ waits: LockWaits) -> Configuration {
        var configuration = Configuration()
        configuration.busyMode = .callback { waits.triesAgain(after: $0) }
        configuration.maximumReaderCount = maximumReaders
        configuration.prepareDatabase { db in
            // Each connection caches 4 MiB of pages, whatever the size of the database.
            try db.execute(sql: "PRAGMA cache_size = -4096")
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
            guard !db.configuration.readonly else { return }
            // The savepoints of ``GroupCommit`` are kept in memory. Otherwise, SQLite would create, write and delete a
            // file in /var/tmp for each savepoint. Readers use files, because they may sort large results.
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        return configuration
    }

    /// Runs `body` in a transaction shared with other callers, and returns once the transaction is on disk.
    ///
    /// If `body` throws, only its own changes are rolled back. `body` may run twice, but the changes of its first run
    /// are rolled back.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let (value, entry, message, wake) = try await commits.run { [unreadable] db in
            let transaction = StoreTransaction(db: db, unreadable: unreadable)
            let value = try body(transaction)
            return (
                value, try transaction.lastJournalEntry(), try transaction.lastMessage(), try transaction.lastWake()
            )
        }
        messageSignal.advance(to: message)
        wakeSignal.advance(to: wake)
        journalSignal.advance(to: entry)
        return value
    }

    /// Runs `body` on a consistent snapshot. A read completes even if the caller's task is cancelled, as a write does.
    /// A thrown error therefore always means that the disk has failed.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let result = await readers.run { [writer, unreadable] in
            Result { try writer.read { db in try body(StoreTransaction(db: db, unreadable: unreadable)) } }
        }
        do {
            return try result.get()
        } catch {
            throw StoreError(error)
        }
    }

    private static let maximumReaders = 3

    /// Adds an observer for every transaction with changes, until the store is closed. The observer may veto a commit.
    package func add(transactionObserver observer: some TransactionObserver) {
        writer.add(transactionObserver: observer, extent: .databaseLifetime)
    }

    /// Limits waits for locks of other programs to the given time, because a stopping service has little time. A later
    /// write that meets a lock fails and changes nothing. Committed changes stay.
    package func endLockWaits(at moment: ContinuousClock.Instant) { waits.end(at: moment) }

    /// Moves all data into the main file and closes the database. Later calls throw, and a second close does nothing.
    package func close() throws(StoreError) {
        do {
            try isClosed.withLock { isClosed in
                // SQLite ends the process if a closed connection is used.
                guard !isClosed else { return }
                // The database is closed even if another program has the log locked. The log is then read at the next
                // start.
                let checkpoint = Result {
                    _ = try writer.writeWithoutTransaction { db in try db.checkpoint(.truncate) }
                }
                try writer.close()
                isClosed = true
                try checkpoint.get()
            }
        } catch {
            throw StoreError(error)
        }
    }
}

/// The operations on the store within one transaction.
package struct StoreTransaction {
    let db: Database
    let unreadable: UnreadableTasks

    /// Runs `body`, and undoes all of its changes if the schema refuses a row.
    ///
    /// - Returns: The error with which the schema refused the row; nil if it refused none.
    /// - Throws: Any other error.
    package func attempt(_ body: () throws -> Void) throws -> StoreError? {
        do {
            try db.inSavepoint {
                try body()
                return .commit
            }
            return nil
        } catch {
            let failure = StoreError(error)
            guard failure.code == .constraint else { throw error }
            return failure
        }
    }
}
