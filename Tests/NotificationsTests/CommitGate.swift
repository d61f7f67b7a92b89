import GRDB
import Synchronization

/// Refuses commits while it is closed, as a full disk does.
final class CommitGate: TransactionObserver, Sendable {
    private let closed = Mutex(false)

    func close() { closed.withLock { $0 = true } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        if closed.withLock(\.self) { throw DatabaseError(resultCode: .SQLITE_FULL) }
    }

    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}
