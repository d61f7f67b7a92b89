import GRDB
import Synchronization

/// Puts the writes that come while another transaction syncs into one transaction of their own.
final class GroupCommit: Sendable {
    /// One caller's part of a transaction.
    private struct Operation {
        /// Does the work inside the transaction; what it returns is called once the transaction's end is known.
        var perform: @Sendable (Database) -> Settlement
        /// Answers the caller when there is no transaction to work in.
        var refuse: @Sendable (StoreError) -> Void
    }

    /// Tells a caller how the transaction ended: nil when it is on disk.
    private typealias Settlement = @Sendable (StoreError?) -> Void

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
                    return { failure in
                        continuation.resume(returning: failure.map { .failure($0) } ?? outcome)
                    }
                },
                refuse: { continuation.resume(returning: .failure($0)) })
            let isFirst = pending.withLock { operations in
                operations.append(operation)
                return operations.count == 1
            }
            // Later writes join the same commit: the writer's queue is serial, so a flush takes all that have gathered.
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
