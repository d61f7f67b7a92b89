package import NightshiftAPI
package import Store

/// The state and the decisions of one feature of the service, as a pure value.
///
/// Inputs change the state, and ``decide(at:)`` makes the decisions. ``takeChanges()`` returns the changes for one
/// transaction. ``takeEffects()`` returns the effects to execute after that transaction. A ``StateRunner`` runs these
/// steps in order.
package protocol PartState: Sendable {
    /// The reading of the clocks in the form that the state uses.
    associatedtype Moment: Sendable
    associatedtype Changes: StateChanges
    associatedtype Effect: Sendable

    /// Makes decisions based on the inputs so far and the time.
    mutating func decide(at now: Moment)

    /// Returns the changes for one transaction and clears them. They count as written unless ``notWritten(_:now:)`` is
    /// called.
    mutating func takeChanges() -> Changes

    mutating func takeEffects() -> [Effect]

    /// Handles a failed transaction. Its changes become part of the next one.
    mutating func notWritten(_ changes: Changes, now: Moment)
}

/// The changes of a state that one transaction writes.
package protocol StateChanges: Sendable {
    var isEmpty: Bool { get }

    /// Writes the changes, row by row.
    ///
    /// - Parameter each: runs a closure that writes one row with its dependent rows. The closures are independent of
    ///   each other.
    func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws
}
