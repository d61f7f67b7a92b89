import NightshiftAPI

/// The order of waiting and paused downloads, expressed with the priorities of their transfers.
///
/// The service starts the transfer with the highest priority first, and the oldest among equals. A download that moves
/// gets a priority between those of its neighbours. Priorities stay at 0.5 or above, because transfers below yield to
/// other traffic.
enum QueueOrder {
    struct Place: Hashable, Sendable {
        var id: TaskID
        var priority: Double

        /// Whether the service starts this transfer before the other one.
        func isBefore(_ other: Place) -> Bool { (-priority, id) < (-other.priority, other.id) }
    }

    /// The priority of downloads that never moved.
    static let standard = 0.5

    /// Returns the places whose priorities must change so that the transfers have the order of `places`.
    static func changes(for places: [Place]) -> [Place] {
        var ordered = places
        for index in places.indices.reversed().dropFirst() where !ordered[index].isBefore(ordered[index + 1]) {
            let next = ordered[index + 1]
            ordered[index].priority = next.priority
            if !ordered[index].isBefore(next) {
                ordered[index].priority = priority(above: next, below: ordered[..<index])
            }
            // Many moves to one place have used up the numbers there.
            if !ordered[index].isBefore(next) { return spread(places) }
        }
        return zip(places, ordered).filter { $0 != $1 }.map(\.1)
    }

    /// Returns the number in the middle between the priority of `next` and that of the nearest earlier transfer above it.
    private static func priority(above next: Place, below earlier: ArraySlice<Place>) -> Double {
        let ceiling = earlier.last { $0.priority > next.priority }?.priority ?? 1
        return (next.priority + ceiling) / 2
    }

    /// Returns all places with priorities at equal distances.
    private static func spread(_ places: [Place]) -> [Place] {
        places.enumerated().map { index, place in
            let rank = Double(places.count - index) / Double(places.count + 1)
            return Place(id: place.id, priority: standard + rank * (1 - standard) / 2)
        }
    }
}
