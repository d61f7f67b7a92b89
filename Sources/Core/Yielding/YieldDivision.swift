import NightshiftAPI

/// The division of a route's window among its connections.
///
/// A sender may have two segments under way on each connection: it waits for a window of that size, and a receiver cannot
/// take bytes back that it has allowed. If the window is smaller than that for all connections, some of them stop, so
/// that many connections together are no more than one. The connections take turns.
package struct YieldDivision: Hashable, Sendable {
    /// The number of connections that receive bytes.
    package let active: Int
    /// The window of each of them in bytes.
    package let window: Int
    /// The largest rate in bytes per second; nil if the window alone limits it.
    package let pace: Double?

    /// The number of segments that the window of a connection contains at least.
    package static let fewestSegments = 2
    /// The time in seconds after which other connections have their turn.
    package static let turn = 2.0

    /// - Parameters:
    ///   - window: the window of all connections together, in bytes.
    ///   - roundTrip: the round-trip time in seconds; nil if unknown.
    package init(window: Double, roundTrip: Double?, segment: Int, connections: Int) {
        let fewest = Self.fewestSegments * max(segment, 1)
        active = max(1, min(connections, Int(saturating: window / Double(fewest))))
        self.window = max(fewest, Int(saturating: window / Double(active)))
        pace = window < Double(fewest) ? roundTrip.map { window / $0 } : nil
    }

    /// Returns whether the connection at an index receives bytes at a time in seconds.
    package func isActive(_ index: Int, of connections: Int, at now: Double) -> Bool {
        guard active < connections else { return true }
        let first = Int(saturating: now / Self.turn) * active % connections
        return (index - first + connections) % connections < active
    }
}
