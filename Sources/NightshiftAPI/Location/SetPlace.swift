/// A place that somebody has set for trials, as text: `LATITUDE,LONGITUDE`, or with the metres of its accuracy behind it.
package struct SetPlace: Hashable, Sendable {
    package var place: Coordinate
    /// Metres.
    package var accuracy: Double

    /// What a satellite receiver comes to in the open; for places without an accuracy of their own.
    package static let usualAccuracy = 10.0
    /// Metres. Half of the way around the earth: a place of more says nothing.
    package static let worstAccuracy = 20_000_000.0

    /// Nil for what is no place.
    package init?(_ text: String) {
        // Three numbers are shorter, however exact.
        guard text.utf8.count <= 128 else { return nil }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count) else { return nil }
        let numbers = parts.compactMap { Double($0) }
        guard numbers.count == parts.count, let place = Coordinate(latitude: numbers[0], longitude: numbers[1]) else {
            return nil
        }
        self.place = place
        accuracy = numbers.count == 3 ? numbers[2] : Self.usualAccuracy
        guard (0...Self.worstAccuracy).contains(accuracy) else { return nil }
    }
}
