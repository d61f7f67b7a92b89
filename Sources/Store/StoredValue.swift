import GRDB

/// A value of one row that an actor holds in memory as well.
///
/// Its changes are made within transactions, which read the row and write it again: two at once each find what the other left.
/// What they give back may reach the actor in another order; the later transaction's is kept.
package struct StoredValue<Value: Sendable>: Sendable {
    package private(set) var value: Value
    private var order: Int64 = 0

    /// - Parameter value: what holds before any transaction.
    package init(_ value: Value) {
        self.value = value
    }

    /// - Parameter order: ``StoreTransaction/order()`` behind the change.
    package mutating func take(_ value: Value, _ order: Int64) {
        guard order > self.order else { return }
        (self.value, self.order) = (value, order)
    }
}

extension StoreTransaction {
    /// Of two transactions that wrote, the later one's is larger, as long as the store is open. The rows that were written; the
    /// SQL function counts them in 64 bits, sqlite3_total_changes() in 32.
    package func order() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT total_changes()")) ?? 0
    }
}
