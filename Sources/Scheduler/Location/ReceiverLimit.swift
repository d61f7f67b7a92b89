import NightshiftAPI

/// The accuracy that a receiver does not surpass, learned from requests that ended without what was wanted.
///
/// Pure.
package struct ReceiverLimit: Hashable, Sendable, Codable {
    /// Metres.
    package private(set) var accuracy: Double
    /// When it was learned, on the clock of fixes; nil where that was in another run of the machine.
    private var since: Double?

    /// Seconds after which a receiver is asked for more again: it may be under the open sky by then.
    package static let memory = 1_800.0
    /// How much coarser than wanted a place may be and be taken at once. A receiver that has just been switched on tells
    /// coarser ones, and better ones soon.
    package static let tolerance = 2.0
    /// By how much more than its limit a receiver may err and still be as good as it can.
    static let spread = 1.1

    /// The limit as known after a fix.
    ///
    /// - Parameter wanted: the accuracy that was asked for, in metres.
    static func learned(_ limit: ReceiverLimit?, from fix: Fix, wanted: Double) -> ReceiverLimit? {
        // One that was asked for no more than its limit has shown nothing new, unless it is better.
        let isNew = fix.accuracy > wanted || limit.map { fix.accuracy < $0.accuracy / spread } ?? false
        return isNew ? ReceiverLimit(accuracy: fix.accuracy, since: fix.time) : limit
    }

    /// Metres to ask for where so many are wanted.
    func accuracy(for wanted: Double, at time: Double?) -> Double {
        let own = accuracy * Self.spread
        guard let since, let time, time - since <= Self.memory, own > wanted, own <= wanted * Self.tolerance else {
            return wanted
        }
        return own
    }

    mutating func restarted() { since = nil }
}
