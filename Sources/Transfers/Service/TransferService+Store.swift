import NightshiftAPI
import Store

/// Store operations for the methods of the API. They convert errors of the store into problems.
extension TransferService {
    nonisolated func ask<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(Problem) -> Value {
        do {
            return try await store.read(body)
        } catch {
            throw Problem(error)
        }
    }

    nonisolated func change<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Result<Value, Problem>
    ) async throws(Problem) -> Value {
        let result: Result<Value, Problem>
        do {
            result = try await store.write(body)
        } catch {
            throw Problem(error)
        }
        return try result.get()
    }
}

extension Problem {
    init(_ error: StoreError) {
        self = error.code == .unreadable ? .conflict(error.message) : .unavailable(error.message)
    }
}
