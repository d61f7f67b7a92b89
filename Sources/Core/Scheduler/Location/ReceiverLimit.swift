import NightshiftAPI

/// The best accuracy of a receiver, learned from requests that ended without the wanted accuracy. This is a pure value.
package struct ReceiverLimit: Hashable, Sendable, Codable {
    /// The best accuracy in metres.
    package private(set) var accuracy: Double
    /// The time when the limit was learned, on the clock of fixes; nil if it was learned in an earlier boot.
    private var since: Double?

    /// The number of seconds after which the receiver is asked for better accuracy again, because it may be under the
    /// open sky by then.
    package static let memory = 1_800.0
    /// The factor by which a fix may be coarser than wanted and still be accepted at once. A receiver that was just
    /// switched on reports coarse fixes first, and better ones soon.
    package static let tolerance = 2.0
    /// The factor by which a fix may exceed the limit and still count as the receiver's best.
    static let spread = 1.1

    /// Returns the limit after a fix.
    ///
    /// - Parameter wanted: the requested accuracy in metres.
    static func learned(_ limit: ReceiverLimit?, from fix: Fix, wanted: Double) -> ReceiverLimit? {
        // A fix that met the request says nothing new about the receiver, unless the fix is better than the limit.
        let isNew = fix.accuracy > wanted || limit.map { fix.accuracy < $0.accuracy / spread } ?? false
        return isNew ? ReceiverLimit(accuracy: fix.accuracy, since: fix.time) : limit
    }

    /// Returns the accuracy in metres to request if `wanted` is needed.
    func accuracy(for wanted: Double, at time: Double?) -> Double {
        let own = accuracy * Self.spread
        guard let since, let time, time - since <= Self.memory, own > wanted, own <= wanted * Self.tolerance else {
            return wanted
        }
        return own
    }

    mutating func restarted() { since = nil }
}
