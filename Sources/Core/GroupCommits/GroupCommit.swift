package import GRDB
import Synchronization

/// A queue that combines operations into transactions. It collects the operations that arrive while a transaction
/// syncs, and executes them in one further transaction, in the order of the requests.
package final class GroupCommit<Failure: Error>: Sendable {
    private struct Operation {
        /// Does the work within the transaction. The caller calls the returned function when the outcome of the
        /// transaction is known. Throws an error if the work fails.
        var perform: @Sendable (Database) throws -> Settlement
        /// Does the work within a savepoint. If the work fails, only the work is rolled back, and the transaction
        /// continues. Throws an error if the failure has ended the whole transaction, as on a full disk.
        var performAlone: @Sendable (Database) throws -> Settlement
        /// Completes an operation whose transaction failed. An operation that only reads is executed again, on the data
        /// that is on the disk.
        var refuse: @Sendable (Database, Failure) -> Void
    }

    private typealias Settlement = @Sendable (Failure?) -> Void

    private let execute: @Sendable (@escaping @Sendable (Database) -> Void) -> Void
    private let failure: @Sendable (any Error) -> Failure
    private let pending = Mutex<[Operation]>([])

    /// - Parameters:
    ///   - execute: a function that arranges a call with the connection that writes, and returns immediately. The calls
    ///     follow each other.
    ///   - failure: a function that converts the error of an operation or of a transaction.
    package init(
        execute: @escaping @Sendable (@escaping @Sendable (Database) -> Void) -> Void,
        failure: @escaping @Sendable (any Error) -> Failure
    ) {
        self.execute = execute
        self.failure = failure
    }

    /// The number of operations that wait for their transaction.
    package var depth: Int { pending.withLock { $0.count } }

    /// Executes `body`, and returns its result when its transaction is on the disk.
    ///
    /// If `body` throws, only its own changes are rolled back. `body` may run twice, but the changes of its first run
    /// are rolled back.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            enqueue(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Queues `body` and returns at once. Calls `completion` when the transaction of `body` is on the disk, or has
    /// failed.
    ///
    /// - Parameter isReading: whether `body` only reads. If so, `body` gets a result even if the transaction fails.
    package func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value, isReading: Bool = false,
        completion: @escaping @Sendable (Result<Value, Failure>) -> Void
    ) {
        let operation = Operation(
            perform: { db in
                let value = try body(db)
                return { failure in completion(failure.map { .failure($0) } ?? .success(value)) }
            },
            performAlone: { db in
                let outcome = self.inSavepoint(db, body)
                if case .failure(let failure) = outcome, !db.isInsideTransaction { throw failure }
                return { failure in completion(failure.map { .failure($0) } ?? outcome) }
            },
            refuse: { db, failure in
                completion(isReading ? self.outcome { try body(db) } : .failure(failure))
            })
        let isFirst = pending.withLock { operations in
            operations.append(operation)
            return operations.count == 1
        }
        // Later operations join the same commit. The writer's queue is serial, so a flush executes all operations
        // that are pending when it starts.
        if isFirst { flush() }
    }

    private func flush() {
        execute { db in
            let operations = self.pending.withLock { operations in
                defer { operations = [] }
                return operations
            }
            do {
                for settle in try Self.commit(operations, db) { settle(nil) }
            } catch {
                let failure = self.failure(error)
                for operation in operations { operation.refuse(db, failure) }
            }
        }
    }

    /// Executes all operations in one transaction, and returns the functions to call after the commit.
    ///
    /// A savepoint for each operation would cost as much as a small operation, and is rarely needed. If an operation
    /// fails, the transaction is rolled back, and all operations are executed again, each within a savepoint. Therefore
    /// `body` may run twice, but the changes of its first run are rolled back.
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

    private func inSavepoint<Value>(
        _ db: Database, _ body: (Database) throws -> Value
    ) -> Result<Value, Failure> {
        outcome {
            var value: Value?
            try db.inSavepoint {
                value = try body(db)
                return .commit
            }
            guard let value else { throw DatabaseError(message: "The transaction returned no value.") }
            return value
        }
    }

    private func outcome<Value>(_ body: () throws -> Value) -> Result<Value, Failure> {
        do {
            return .success(try body())
        } catch {
            return .failure(failure(error))
        }
    }
}
