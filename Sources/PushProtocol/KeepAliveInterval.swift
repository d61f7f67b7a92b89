/// An estimate of the time for which a connection can be silent on the device's current network.
///
/// It is pure. It starts short, grows while keep-alives are answered, and returns to a value below the time after which
/// a connection broke. Times are in seconds.
package struct KeepAliveInterval: Sendable, Hashable {
    /// The length of the next silence.
    package private(set) var current: Int
    /// The longest silence after which a keep-alive was answered.
    private var proven = 0
    /// The shortest silence after which the connection was broken.
    private var broken: Int?

    /// Some carriers drop connections that are silent for 45 s.
    package static let shortest = 40
    package static let first = 240
    package static let longest = 1_200
    /// The precision of the search. A better one has no benefit.
    private static let precision = 30

    package init() {
        current = Self.first
    }

    /// A keep-alive after `silence` seconds was answered.
    package mutating func answered(silence: Int) {
        proven = max(proven, min(silence, Self.longest))
        if let broken, broken <= proven { self.broken = nil }
        guard silence >= current else { return }
        let aim = broken.map { (proven + $0) / 2 } ?? current * 3 / 2
        if broken.map({ $0 - proven > Self.precision }) ?? true { current = min(aim, Self.longest) }
    }

    /// The connection was broken when it was used after `silence` seconds.
    package mutating func lost(silence: Int) {
        // A connection that breaks early does not break because of silence.
        guard silence >= Self.shortest else { return }
        broken = min(broken ?? silence, silence)
        if proven >= silence { proven = silence / 2 }
        current = max(Self.shortest, proven > 0 ? min(proven, silence * 3 / 4) : silence / 2)
    }

    /// The network changed, so its limit is unknown.
    package mutating func networkChanged() {
        self = KeepAliveInterval()
    }
}
