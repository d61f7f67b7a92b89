import GRDB
import Synchronization

/// Puts the work that comes while another transaction syncs into one transaction of its own, in the order in which it
/// was asked for.
final class GroupCommit: Sendable {
    private struct Operation {
        /// Does the work inside the transaction; what it returns is called once the transaction's end is known.
        var perform: @Sendable (Database) -> @Sendable (StoreError?) -> Void
        /// Answers when there is no transaction to work in.
        var refuse: @Sendable (StoreError) -> Void
    }

    private let writer: any DatabaseWriter
    private let pending = Mutex<[Operation]>([])

    init(writer: any DatabaseWriter) {
        self.writer = writer
    }

    /// Operations that wait for their transaction.
    var depth: Int { pending.withLock { $0.count } }

    /// Queues `body`, and calls `completion` when its transaction is on the disk, or has failed. Returns at once.
    func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
        completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        let operation = Operation(
            perform: { db in
                let outcome = Self.inSavepoint(db, body)
                return { failure in completion(failure.map { .failure($0) } ?? outcome) }
            },
            refuse: { completion(.failure($0)) })
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
            var settlements: [@Sendable (StoreError?) -> Void] = []
            do {
                try db.inTransaction(.immediate) {
                    settlements = operations.map { $0.perform(db) }
                    return .commit
                }
                for settle in settlements { settle(nil) }
            } catch {
                let failure = StoreError(error)
                if settlements.isEmpty {
                    for operation in operations { operation.refuse(failure) }
                } else {
                    for settle in settlements { settle(failure) }
                }
            }
        }
    }

    private static func inSavepoint<Value>(
        _ db: Database, _ body: (Database) throws -> Value
    ) -> Result<Value, StoreError> {
        var value: Value?
        do {
            try db.inSavepoint {
                value = try body(db)
                return .commit
            }
        } catch {
            return .failure(StoreError(error))
        }
        guard let value else { return .failure(StoreError(.other, "The transaction gave no value.")) }
        return .success(value)
    }
}
