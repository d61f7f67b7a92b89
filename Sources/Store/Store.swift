import Foundation
package import GRDB
package import NightshiftAPI
import Synchronization

/// The one SQLite database of a service: what was accepted, how far it is, and every decision.
///
/// Writes of many callers share one transaction and one sync of the disk; a write has returned only after its
/// transaction is on disk. Thread-safe.
package final class Store: Sendable {
    private let writer: any DatabaseWriter
    private let commits: GroupCommit
    /// Tells event streams that the journal has grown.
    package let journalSignal: GrowthSignal
    /// Tells that there is a new message for an app.
    package let messageSignal: GrowthSignal
    /// Tells that another source than a session has a reason to wake an app.
    package let wakeSignal: GrowthSignal
    /// Tasks whose rows make no sense.
    package let unreadable: UnreadableTasks
    private let isClosed = Mutex(false)
    private let waits: LockWaits

    /// Opens or creates the database of `paths`, and moves its boot times into the present boot.
    ///
    /// - Throws: ``StoreError``; a newer, damaged or vanished database is refused, never replaced.
    package convenience init(paths: ServicePaths, now: ClockReading) throws(StoreError) {
        let path = paths.database.path
        let marker = paths.state.appending(path: "database-created").path
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        if FileManager.default.fileExists(atPath: marker), size ?? 0 == 0 {
            throw StoreError(
                .missing,
                "The database \(path) was here before and is now \(size == nil ? "gone" : "empty"). Restore a copy of it; or, "
                    + "to begin anew without its tasks, remove \(marker) and start again.")
        }
        let waits = LockWaits()
        do {
            if let size {
                // Opening for writing would already change a database that has to be refused. One that has a rollback
                // journal is not done with being made: what a crash left half written there has to be undone before
                // anything can be read.
                let isBeingMade = FileManager.default.fileExists(atPath: "\(path)-journal")
                let configuration = isBeingMade ? Self.configuration(waits) : Self.readOnly
                try Self.check(DatabaseQueue(path: path, configuration: configuration), size: size)
            }
            try self.init(
                writer: DatabasePool(path: path, configuration: Self.configuration(waits)), waits: waits, now: now)
            if !FileManager.default.fileExists(atPath: marker) {
                try Data().write(to: URL(filePath: marker))
            }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// A store that lives in memory, for tests and simulations.
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
        // A commit that has returned survives a power cut. Said here and not on opening: GRDB's pool sets its writer to
        // NORMAL, which does not sync a commit in WAL mode.
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
        commits = GroupCommit(writer: writer)
    }

    /// Throws for a database that has to be refused, and leaves it as it is.
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

    /// Bytes up to which every page is looked at on opening: about half a second. Damage in larger ones shows on use.
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
        configuration.maximumReaderCount = 3
        configuration.prepareDatabase { db in
            // 4 MiB of pages a connection, whatever the size of the database.
            try db.execute(sql: "PRAGMA cache_size = -4096")
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
            guard !db.configuration.readonly else { return }
            // The savepoints of ``GroupCommit`` undo from memory. Else each makes, writes and removes a file in /var/tmp. Readers keep files:
            // what they sort may be long.
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        return configuration
    }

    /// Runs `body` in a transaction shared with others and returns once it is on disk.
    ///
    /// When `body` throws, its own changes are undone and nobody else's.
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

    /// Runs `body` on a consistent snapshot. As a write does, it comes to its end also where the caller's task is cancelled: whoever
    /// is thrown an error knows that the disk has failed.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        // The database's own reads are cancelled with their task: this one is nobody's.
        let reading = Task { [writer, unreadable] in
            try await writer.read { db in try body(StoreTransaction(db: db, unreadable: unreadable)) }
        }
        do {
            return try await reading.value
        } catch {
            throw StoreError(error)
        }
    }

    /// Lets `observer` hear of every transaction that changes something, and veto its commit, until the store is closed.
    package func add(transactionObserver observer: some TransactionObserver) {
        writer.add(transactionObserver: observer, extent: .databaseLifetime)
    }

    /// Waits for a lock of another program no longer than until then: a service that was asked to leave has little time. What cannot be
    /// written by then is as it was, and committed changes stay.
    package func endLockWaits(at moment: ContinuousClock.Instant) { waits.end(at: moment) }

    /// Moves everything into the one file and ends all use of it; later calls throw, and closing it again does nothing.
    package func close() throws(StoreError) {
        do {
            try isClosed.withLock { isClosed in
                // SQLite ends the process that asks for something of a connection that is gone.
                guard !isClosed else { return }
                // Closed all the same where another program keeps the log: the next start reads it.
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

/// What can be done with the store within one transaction.
package struct StoreTransaction {
    let db: Database
    let unreadable: UnreadableTasks

    /// Does `body`, or nothing of it where the schema refuses a row.
    ///
    /// - Returns: the refusal.
    /// - Throws: whatever else went wrong.
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
