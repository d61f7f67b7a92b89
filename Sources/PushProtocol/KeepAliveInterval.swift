/// Finds how long a connection may be silent on the network that a device is on.
///
/// Pure. It begins short, grows while keep-alives are answered, and goes back below what broke. Times are seconds.
package struct KeepAliveInterval: Sendable, Hashable {
    /// How long the next silence may be.
    package private(set) var current: Int
    /// The longest silence that an answer has followed.
    private var proven = 0
    /// The shortest silence behind which the connection was found broken.
    private var broken: Int?

    /// Some carriers drop what is silent for 45 s.
    package static let shortest = 40
    package static let first = 240
    package static let longest = 1_200
    /// Nothing is gained by knowing the limit better than that.
    private static let precision = 30

    package init() {
        current = Self.first
    }

    /// A keep-alive behind `silence` seconds was answered.
    package mutating func answered(silence: Int) {
        proven = max(proven, min(silence, Self.longest))
        if let broken, broken <= proven { self.broken = nil }
        guard silence >= current else { return }
        let aim = broken.map { (proven + $0) / 2 } ?? current * 3 / 2
        if broken.map({ $0 - proven > Self.precision }) ?? true { current = min(aim, Self.longest) }
    }

    /// The connection was broken when it was used behind `silence` seconds.
    package mutating func lost(silence: Int) {
        // One that breaks at once says nothing of silence.
        guard silence >= Self.shortest else { return }
        broken = min(broken ?? silence, silence)
        if proven >= silence { proven = silence / 2 }
        current = max(Self.shortest, proven > 0 ? min(proven, silence * 3 / 4) : silence / 2)
    }

    /// Another network: nothing is known of it.
    package mutating func networkChanged() {
        self = KeepAliveInterval()
    }
}
