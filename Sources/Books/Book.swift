package import NightshiftAPI
package import Store

/// What a part of the service knows and decides, as a value: pure.
///
/// Inputs go in; ``look(_:)`` decides; ``takeChanges()`` gives what one transaction writes, and ``takeEffects()`` what is done
/// behind it. A ``KeptBook`` has its steps happen in their turn.
package protocol Book: Sendable {
    /// What the clocks say, as this book counts.
    associatedtype Moment: Sendable
    associatedtype Changes: BookChanges
    associatedtype Effect: Sendable

    /// Decides what follows from what it was told, and from the time.
    mutating func look(_ now: Moment)

    /// What is to be written, in one transaction. It counts as written until ``notWritten(_:now:)`` says otherwise.
    mutating func takeChanges() -> Changes

    mutating func takeEffects() -> [Effect]

    /// The transaction failed: what it was to write is part of the next one.
    mutating func notWritten(_ changes: Changes, now: Moment)
}

/// What one transaction writes of a book.
package protocol BookChanges: Sendable {
    var isEmpty: Bool { get }

    /// Writes it, row by row.
    ///
    /// - Parameter each: does what it is given: it writes one row, and those that belong to it. The others do not need it.
    func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws
}
