package import NightshiftAPI
package import Store

/// The state and the decisions of one feature of the service, as a pure value.
///
/// Inputs change the state, and ``look(_:)`` decides. ``takeChanges()`` returns the changes for one transaction, and
/// ``takeEffects()`` returns the effects to perform after it. A ``StateRunner`` runs the steps in order.
package protocol PartState: Sendable {
    /// The reading of the clocks in the book's own form.
    associatedtype Moment: Sendable
    associatedtype Changes: StateChanges
    associatedtype Effect: Sendable

    /// Makes decisions based on the inputs so far and the time.
    mutating func decide(at now: Moment)

    /// Returns the changes to write in one transaction. They count as written until ``notWritten(_:now:)``.
    mutating func takeChanges() -> Changes

    mutating func takeEffects() -> [Effect]

    /// Handles a failed transaction: its changes become part of the next one.
    mutating func notWritten(_ changes: Changes, now: Moment)
}

/// The changes of a book in one transaction.
package protocol StateChanges: Sendable {
    var isEmpty: Bool { get }

    /// Writes the changes, row by row.
    ///
    /// - Parameter each: runs the closure that it is given. The closure writes one row and its dependent rows, and is
    ///   independent of the others.
    func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws
}
