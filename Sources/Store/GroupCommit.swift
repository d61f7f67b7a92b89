import GRDB
import Synchronization

/// A queue that combines writes. Writes that arrive while a transaction is being synced to disk share the next
/// transaction.
final class GroupCommit: Sendable {
    /// The operation of one caller within a transaction.
    private struct Operation {
        /// A closure that performs the operation inside the transaction and returns another closure. That closure is
        /// called once the transaction is on disk. The operation throws if it ended the whole transaction, as on a full
        /// disk.
        var perform: @Sendable (Database) throws -> Settlement
        /// A closure that reports to the caller that the transaction failed.
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
            // Later writes join the same commit, because the writer's queue is serial and a flush handles all pending
            // operations.
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
