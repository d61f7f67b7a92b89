/// A limited number of places for connections.
///
/// Pure. When all places are taken, the stranger with the oldest one makes way for the next: connections that say nothing
/// cannot keep out one that proves its identity.
package struct PlaceTable<Name: Hashable & Sendable>: Sendable {
    package enum Entry: Sendable, Hashable {
        case enters
        /// The newcomer has the place of this stranger.
        case replaces(Name)
        case refused
    }

    /// Connections by which the table shrinks until the memory that they had is worth giving back: a few MB.
    package static var shrinkage: Int { 250 }

    package private(set) var open: Set<Name> = []
    /// The arrivals of connections in `open` that have proved nothing yet.
    private var strangers: [Name: UInt64] = [:]
    /// Strangers in order of arrival, from `first` on; some are no longer strangers.
    private var order: [(name: Name, arrival: UInt64)] = []
    private var first = 0
    private var arrivals: UInt64 = 0
    private var peak = 0

    package init() {}

    /// Gives `name` a place, as a stranger until it has ``proved(_:)`` who it is.
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

    /// Whether there are many fewer connections than at the most since this was true, or since the beginning.
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
