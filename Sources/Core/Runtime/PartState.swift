package import NightshiftAPI
package import Store

/// The state and the decisions of one part of the service, as a pure value.
///
/// Inputs change the state, and ``decide(at:)`` makes the decisions. ``changes(since:)`` compares the state with the one
/// on disk, and ``takeEffects()`` returns the effects to execute after the write. A ``Part`` runs these steps in order.
package protocol PartState: Sendable {
    /// The reading of the clocks in the form that the state uses.
    associatedtype Moment: Sendable
    associatedtype Changes: StateChanges
    associatedtype Effect: Sendable

    /// The time of the next decision, if no event occurs earlier.
    var nextDecision: DecisionTime? { get }

    /// Makes decisions based on the inputs so far and the time.
    mutating func decide(at now: Moment)

    mutating func takeEffects() -> [Effect]

    /// Returns what a transaction has to write so that the disk contains this state.
    ///
    /// - Parameter durable: the state that the disk contains.
    func changes(since durable: Self) -> Changes

    /// Removes the rows of outboxes that `copy`, an earlier copy of this state, contained. They are on disk.
    mutating func wrote(_ copy: Self)

    /// Removes large values that ``changes(since:)`` does not read in a durable state. Otherwise each change of the
    /// current state copies them.
    mutating func becomeDurable()
}

extension PartState {
    package mutating func becomeDurable() {}

    /// Empties the outboxes, because their rows are on disk, or there is no disk.
    package mutating func countAsWritten() { wrote(self) }
}

/// The time of a decision, by one of the clocks.
package enum DecisionTime: Hashable, Sendable {
    case bootSeconds(Double)
    /// Seconds in which the machine was awake. While the machine sleeps, they do not elapse, so the part may decide
    /// earlier than at this time.
    case awakeSeconds(Double)
    /// Seconds since 1970. When the wall clock is changed, the part decides again.
    case wallSeconds(Double)
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

/// Rows that a part adds, and then no longer needs: journal entries, wakes, deletions. A row stays here until a
/// transaction has written it.
package struct Outbox<Row: Sendable>: Sendable {
    package private(set) var rows: [Row] = []
    private var numbers: [Int] = []
    private var last = 0

    package init() {}

    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row. If there are more than `limit` rows then, the oldest is dropped.
    package mutating func append(_ row: Row, limit: Int = .max) {
        last += 1
        rows.append(row)
        numbers.append(last)
        guard rows.count > limit else { return }
        rows.removeFirst()
        numbers.removeFirst()
    }

    package mutating func removeAll(where isUnwanted: (Row) -> Bool) {
        let kept = rows.indices.filter { !isUnwanted(rows[$0]) }
        numbers = kept.map { numbers[$0] }
        rows = kept.map { rows[$0] }
    }

    /// Removes the rows of an earlier copy, which are on disk.
    package mutating func wrote(_ copy: Self) {
        let count = numbers.prefix { $0 <= copy.last }.count
        rows.removeFirst(count)
        numbers.removeFirst(count)
    }
}

extension Outbox<JournalEntry> {
    /// Adds a journal entry. While the disk cannot be written, only the newest entries are kept.
    package mutating func note(_ entry: JournalEntry) { append(entry, limit: 1_000) }
}

/// The rows of a table that have to be written. They are named by those who change them, because the rows change with time
/// as well, and that alone is not worth a write.
package struct Touched<Key: Hashable & Sendable>: Sendable {
    private var numbers: [Key: Int] = [:]
    private var last = 0

    package init() {}

    package mutating func touch(_ key: Key) {
        last += 1
        numbers[key] = last
    }

    package mutating func remove(_ key: Key) { numbers[key] = nil }

    /// Returns the rows that were named since an earlier copy of this value.
    package func changed(since copy: Self) -> Set<Key> {
        guard last != copy.last else { return [] }
        return Set(numbers.filter { $0.value > copy.last }.keys)
    }

    /// Forgets the names that an earlier copy contained, because their rows are on disk.
    package mutating func wrote(_ copy: Self) {
        guard !numbers.isEmpty else { return }
        numbers = numbers.filter { $0.value > copy.last }
    }
}
