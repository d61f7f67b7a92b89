import GRDB

/// The value of one row that an actor also keeps in memory.
///
/// A change is made within a transaction, which reads and rewrites the row, so concurrent changes are never lost. The
/// results can reach the actor in a different order. The actor keeps the value of the later transaction.
package struct StoredValue<Value: Sendable>: Sendable {
    package private(set) var value: Value
    private var order: Int64 = 0

    /// Creates the value that the actor keeps.
    ///
    /// - Parameter value: The value before any transaction.
    package init(_ value: Value) {
        self.value = value
    }

    /// Sets the value, unless the value of a later transaction was set before.
    ///
    /// - Parameter order: The result of ``StoreTransaction/order()`` after the change.
    package mutating func take(_ value: Value, _ order: Int64) {
        guard order > self.order else { return }
        (self.value, self.order) = (value, order)
    }
}

extension StoreTransaction {
    /// Returns a number by which two writing transactions can be compared, as long as the store is open: the later one
    /// has the larger number. The number is the count of written rows. The SQL function counts in 64 bits, whereas
    /// sqlite3_total_changes() counts in 32.
    package func order() throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT total_changes()")) ?? 0
    }
}
