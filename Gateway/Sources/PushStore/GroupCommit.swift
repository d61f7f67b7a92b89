import GRDB
import Synchronization

/// Puts the work that comes while another transaction syncs into one transaction of its own, in the order in which it
/// was asked for.
final class GroupCommit: Sendable {
    private struct Operation {
        /// Does the work inside the transaction; what it returns is called once the transaction's end is known. Throws
        /// where the work fails.
        var perform: @Sendable (Database) throws -> Settlement
        /// The same within a savepoint: work that fails leaves nothing, and the rest of the transaction stays. Throws where it
        /// has ended the whole transaction, as on a full disk.
        var performAlone: @Sendable (Database) throws -> Settlement
        /// Answers when what was to be written is not: what only reads does so once more, of what is on the disk.
        var refuse: @Sendable (Database, StoreError) -> Void
    }

    private typealias Settlement = @Sendable (StoreError?) -> Void

    private let writer: any DatabaseWriter
    private let pending = Mutex<[Operation]>([])

    init(writer: any DatabaseWriter) {
        self.writer = writer
    }

    /// Operations that wait for their transaction.
    var depth: Int { pending.withLock { $0.count } }

    /// Queues `body`, and calls `completion` when its transaction is on the disk, or has failed. Returns at once.
    ///
    /// - Parameter isReading: `body` writes nothing, and has its answer also where the transaction has failed.
    func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value, isReading: Bool = false,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        let operation = Operation(
            perform: { db in
                let value = try body(db)
                return { failure in completion(failure.map { .failure($0) } ?? .success(value)) }
            },
            performAlone: { db in
                let outcome = Self.inSavepoint(db, body)
                if case .failure(let failure) = outcome, !db.isInsideTransaction { throw failure }
                return { failure in completion(failure.map { .failure($0) } ?? outcome) }
            },
            refuse: { db, failure in
                completion(isReading ? Self.outcome { try body(db) } : .failure(failure))
            })
        let isFirst = pending.withLock { operations in
            operations.append(operation)
            return operations.count == 1
        }
        // Later operations join the same commit: the writer's queue is serial, so a flush takes all that have gathered.
        if isFirst { flush() }
    }

    private func flush() {
        writer.asyncWriteWithoutTransaction { db in
            let operations = self.pending.withLock { operations in
                defer { operations = [] }
                return operations
            }
            do {
                for settle in try Self.commit(operations, db) { settle(nil) }
            } catch {
                let failure = StoreError(error)
                for operation in operations { operation.refuse(db, failure) }
            }
        }
    }

    /// Does all of the work in one transaction; gives what is to be called when it has ended well.
    ///
    /// A savepoint for each would cost as much as a small piece of work does, and hardly ever is one needed: where some
    /// work fails, the transaction is rolled back and everything is done again, each within its own. So `body` may be
    /// run twice, but what the first time did is gone.
    private static func commit(_ operations: [Operation], _ db: Database) throws -> [Settlement] {
        var settlements: [Settlement] = []
        settlements.reserveCapacity(operations.count)
        var hasFailed = false
        try db.inTransaction(.immediate) {
            do {
                for operation in operations { settlements.append(try operation.perform(db)) }
                return .commit
            } catch {
                hasFailed = true
                return .rollback
            }
        }
        guard hasFailed else { return settlements }
        try db.inTransaction(.immediate) {
            settlements = try operations.map { try $0.performAlone(db) }
            return .commit
        }
        return settlements
    }

    private static func inSavepoint<Value>(
        _ db: Database, _ body: (Database) throws -> Value
    ) -> Result<Value, StoreError> {
        outcome {
            var value: Value?
            try db.inSavepoint {
                value = try body(db)
                return .commit
            }
            guard let value else { throw StoreError(.other, "The transaction gave no value.") }
            return value
        }
    }

    private static func outcome<Value>(_ body: () throws -> Value) -> Result<Value, StoreError> {
        do {
            return .success(try body())
        } catch {
            return .failure(StoreError(error))
        }
    }
}
