/// A limited number of places for connections, as a pure value.
///
/// When all places are taken, a new connection gets the place of the oldest connection that has not authenticated.
/// Therefore idle connections cannot keep out a connection that authenticates.
package struct PlaceTable<Name: Hashable & Sendable>: Sendable {
    package enum Entry: Sendable, Hashable {
        case enters
        /// The new connection enters, and this unauthenticated connection must be closed.
        case replaces(Name)
        case refused
    }

    /// The decrease in the number of connections after which their memory is returned to the system. Their memory is
    /// then a few MB.
    package static var shrinkage: Int { 250 }

    package private(set) var open: Set<Name> = []
    /// The arrival numbers of the connections in `open` that have not authenticated.
    private var strangers: [Name: UInt64] = [:]
    /// The connections in order of arrival, starting at `first`. The list includes connections that have authenticated
    /// or left since their arrival.
    private var order: [(name: Name, arrival: UInt64)] = []
    private var first = 0
    private var arrivals: UInt64 = 0
    private var peak = 0

    package init() {}

    /// Gives `name` a place. The connection counts as unauthenticated until ``proved(_:)`` is called for it.
    package mutating func enter(_ name: Name, limit: Int) -> Entry {
        var entry = Entry.enters
        if open.count >= limit {
            guard let oldest = oldestStranger() else { return .refused }
            leave(oldest)
            entry = .replaces(oldest)
        }
        open.insert(name)
        arrivals += 1
        strangers[name] = arrivals
        order.append((name, arrivals))
        compact()
        peak = max(peak, open.count)
        return entry
    }

    package mutating func proved(_ name: Name) {
        strangers[name] = nil
    }

    package mutating func leave(_ name: Name) {
        strangers[name] = nil
        open.remove(name)
    }

    /// Returns whether the number of connections has fallen by ``shrinkage`` from its peak since the last call that
    /// returned true.
    package mutating func hasShrunk() -> Bool {
        guard peak - open.count >= Self.shrinkage else { return false }
        peak = open.count
        return true
    }

    private mutating func oldestStranger() -> Name? {
        while first < order.count {
            let next = order[first]
            if strangers[next.name] == next.arrival { return next.name }
            first += 1
        }
        return nil
    }

    private mutating func compact() {
        guard order.count > 2 * strangers.count + 64 else { return }
        order = order[first...].filter { strangers[$0.name] == $0.arrival }
        first = 0
    }
}
