/// A location that was set for testing. Its text form is `LATITUDE,LONGITUDE`, optionally followed by the accuracy in
/// metres.
package struct LocationOverride: Hashable, Sendable {
    package var place: Coordinate
    /// The accuracy in metres.
    package var accuracy: Double

    /// The typical accuracy of a satellite receiver outdoors, used for locations without an accuracy.
    package static let usualAccuracy = 10.0
    /// Half of the earth's circumference in metres. If the accuracy value is larger, the location contains no
    /// information.
    package static let worstAccuracy = 20_000_000.0

    /// Parses the text form. Returns nil if `text` is not a valid location.
    package init?(_ text: String) {
        // This is enough for three numbers at full precision.
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
