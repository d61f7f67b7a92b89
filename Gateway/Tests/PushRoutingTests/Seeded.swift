import PushProtocol
import PushRouting

/// A random number generator with a seed, so that a failure can be reproduced.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    /// Returns the next number of SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension RouteTime {
    /// Returns the time this many seconds after a start.
    static func at(_ seconds: Double) -> RouteTime {
        RouteTime(
            bootSeconds: 1_000 + seconds, wallMilliseconds: 1_700_000_000_000 + Int64((seconds * 1_000).rounded()))
    }
}

extension Push {
    static func sample(
        _ number: UInt64, topic: String = "org.example.Mail", lifetime: Lifetime = .until(1_700_009_000),
        priority: PushPriority = .immediate, isSilent: Bool = false, at time: Double = 0
    ) -> Push {
        Push(
            id: PushID(high: 0, low: number), device: DeviceID(high: 1, low: 1), topic: topic,
            receivedAt: RouteTime.at(time).wallMilliseconds, lifetime: lifetime, priority: priority,
            type: isSilent ? .background : .alert, collapseID: nil, isSilent: isSilent, payload: [])
    }

    func stored(_ slot: Slot = .latest, sequence: Int64? = nil, heldUntil: Int64? = nil) -> QueuedPush {
        QueuedPush(push: self, slot: slot, sequence: sequence ?? Int64(id.low), heldUntil: heldUntil)
    }
}
