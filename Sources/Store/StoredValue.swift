import GRDB

/// A value of one row that an actor also holds in memory.
///
/// Changes are made within transactions, which read and rewrite the row, so concurrent changes are never lost. The
/// results can reach the actor out of order. The value of the later transaction is kept.
package struct StoredValue<Value: Sendable>: Sendable {
    package private(set) var value: Value
    private var order: Int64 = 0

    /// - Parameter value: the value before any transaction.
    package init(_ value: Value) {
        self.value = value
    }

    /// - Parameter order: the result of ``StoreTransaction/order()`` after the change.
    package mutating func take(_ value: Value, _ order: Int64) {
        guard order > self.order else { return }
        (self.value, self.order) = (value, order)
    }
}

extension StoreTransaction {
    /// Returns a number that is larger for the later of two writing transactions, as long as the store is open. It is
    /// the number of written rows. The SQL function counts in 64 bits, sqlite3_total_changes() in 32.
    package func order() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT total_changes()")) ?? 0
    }
}
