import GRDB
import Synchronization

/// Combines writes that arrive during the sync of a transaction into one following transaction.
final class GroupCommit: Sendable {
    /// One caller's operation within a transaction.
    private struct Operation {
        /// Performs the operation inside the transaction. The returned closure is called once the transaction is on
        /// disk. Throws if the operation ended the whole transaction, as on a full disk.
        var perform: @Sendable (Database) throws -> Settlement
        /// Reports to the caller that the transaction failed.
        var refuse: @Sendable (StoreError) -> Void
    }

    private typealias Settlement = @Sendable () -> Void

    private let writer: any DatabaseWriter
    private let pending = Mutex<[Operation]>([])

    init(writer: any DatabaseWriter) {
        self.writer = writer
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(StoreError) -> Value
    {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let operation = Operation(
                perform: { db in
                    let outcome = Self.inSavepoint(db, body)
                    if case .failure(let failure) = outcome, !db.isInsideTransaction { throw failure }
                    return { continuation.resume(returning: outcome) }
                },
                refuse: { continuation.resume(returning: .failure($0)) })
            let isFirst = pending.withLock { operations in
                operations.append(operation)
                return operations.count == 1
            }
            // Later writes join the same commit: the writer's queue is serial, so a flush takes all pending operations.
            if isFirst { flush() }
        }
        return try result.get()
    }

    private func flush() {
        writer.asyncWriteWithoutTransaction { db in
            let operations = self.pending.withLock { operations in
                defer { operations = [] }
                return operations
            }
            var settlements: [Settlement] = []
            do {
                try db.inTransaction(.immediate) {
                    settlements = try operations.map { try $0.perform(db) }
                    return .commit
                }
                for settle in settlements { settle() }
            } catch {
                let failure = StoreError(error)
                for operation in operations { operation.refuse(failure) }
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
        guard let value else { return .failure(StoreError(.other, "The transaction returned no value.")) }
        return .success(value)
    }
}
