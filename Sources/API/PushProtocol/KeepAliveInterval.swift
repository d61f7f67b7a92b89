/// An estimate of how long a connection can be silent on the device's current network. Times are in seconds.
///
/// A pure value. The estimate starts short and grows while keep-alives are answered. When a connection breaks after a
/// silence, the estimate returns to a shorter one.
package struct KeepAliveInterval: Sendable, Hashable {
    /// The length of the next silence, after which a keep-alive is due.
    package private(set) var current: Int
    /// The longest silence after which a keep-alive was answered.
    private var proven = 0
    /// The shortest silence after which the connection was broken.
    private var broken: Int?

    /// The shortest silence. Some carriers drop connections that are silent for 45 s.
    package static let shortest = 40
    package static let first = 240
    package static let longest = 1_200
    /// The precision of the search. A better precision would have no benefit.
    private static let precision = 30

    package init() {
        current = Self.first
    }

    /// Records the answer to a keep-alive that was sent after `silence` seconds.
    package mutating func answered(silence: Int) {
        proven = max(proven, min(silence, Self.longest))
        if let broken, broken <= proven { self.broken = nil }
        guard silence >= current else { return }
        let aim = broken.map { (proven + $0) / 2 } ?? current * 3 / 2
        if broken.map({ $0 - proven > Self.precision }) ?? true { current = min(aim, Self.longest) }
    }

    /// Records that a connection was found to be broken after `silence` seconds.
    package mutating func lost(silence: Int) {
        // A connection that breaks earlier does not break because of silence.
        guard silence >= Self.shortest else { return }
        broken = min(broken ?? silence, silence)
        if proven >= silence { proven = silence / 2 }
        current = max(Self.shortest, proven > 0 ? min(proven, silence * 3 / 4) : silence / 2)
    }

    /// Starts the estimate again, because the limit of the new network is unknown.
    package mutating func networkChanged() {
        self = KeepAliveInterval()
    }
}
