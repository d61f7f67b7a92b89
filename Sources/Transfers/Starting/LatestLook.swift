package import NightshiftAPI
package import Scheduler
package import Store

/// Tasks that the moment treats alike.
package struct HeldClass: Hashable, Sendable {
    package var rules: TransferRules
    package var isLoopback: Bool

    package init(rules: TransferRules, isLoopback: Bool) {
        self.rules = rules
        self.isLoopback = isLoopback
    }
}

/// What the last decision over starting saw, to explain it. Pure.
package struct LatestLook: Sendable {
    package private(set) var lanes: [LaneID: Admission.Lane] = [:]
    private var held: [HeldClass: (reason: WaitReason, since: Double)] = [:]
    /// How many tasks run, or may run, that wait for a good moment.
    package private(set) var activity = TransferActivity()

    package init() {}

    package mutating func note(_ lanes: [LaneID: Admission.Lane]) { self.lanes = lanes }

    /// Keeps in mind since when the moment holds classes of tasks back.
    ///
    /// - Parameter found: all of them, each with its reason.
    package mutating func note(_ found: [(class: HeldClass, reason: WaitReason)], now: ClockReading) {
        let known = held
        held = [:]
        for (key, reason) in found {
            let since = known[key].flatMap { $0.reason == reason ? $0.since : nil }
            held[key] = (reason, since ?? now.wallSeconds)
        }
    }

    /// Since when the moment holds a class of tasks back, in seconds since 1970.
    package func heldSince(_ key: HeldClass) -> Double? { held[key]?.since }

    /// - Returns: whether there are any such tasks now and were none, or the other way round.
    package mutating func note(discretionary count: Int) -> Bool {
        defer { activity.discretionary = count }
        return (count > 0) != (activity.discretionary > 0)
    }
}
