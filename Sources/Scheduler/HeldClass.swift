package import NightshiftAPI

/// Tasks that the moment treats alike.
package struct HeldClass: Hashable, Sendable {
    package var rules: TransferRules
    package var isLoopback: Bool

    package init(rules: TransferRules, isLoopback: Bool) {
        self.rules = rules
        self.isLoopback = isLoopback
    }

    /// The reason for which they have to wait; nil where they may run.
    package func hold(_ moment: DeviceMoment) -> WaitReason? {
        Permission.hold(rules, moment, isLoopback: isLoopback)
    }

    /// The same as the journal and `why` tell it; nil where the reason says it all.
    package func detail(of reason: WaitReason, _ moment: DeviceMoment) -> String? {
        Permission.detail(of: reason, rules, moment, isLoopback: isLoopback)
    }

    /// The inputs of a decision about them.
    package func inputs(_ moment: DeviceMoment) -> [String: String] {
        Permission.inputs(rules, moment, isLoopback: isLoopback)
    }

    /// Whether one of them that waits keeps a window of doze open: it waits for a good moment, and would run in a window.
    package func wantsWindow(_ conditions: DeviceConditions) -> Bool {
        rules.discretion != .none && hold(DeviceMoment(conditions: conditions, phase: .window)) == nil
    }

    /// Whether one of them that runs keeps a window of doze open.
    package var worksInWindow: Bool { rules.discretion != .none }

    /// What the moment keeps from starting of tasks that are about to be accepted: one entry for all of equal needs, with the
    /// place of the first of them.
    ///
    /// That there is no network is an entry of its own already.
    ///
    /// - Parameter classes: of the tasks in their order; nil for one that does not start for other reasons.
    package static func heldFromTheFirst(
        _ classes: [HeldClass?], _ moment: DeviceMoment, _ now: ClockReading
    ) -> [(index: Int, entry: JournalEntry)] {
        var first: [HeldClass: (index: Int, reason: WaitReason, count: Int)] = [:]
        for (index, needs) in classes.enumerated() {
            guard let needs else { continue }
            if first[needs] != nil {
                first[needs]?.count += 1
            } else if let reason = needs.hold(moment), reason != .network {
                first[needs] = (index, reason, 1)
            }
        }
        return first.sorted { $0.value.index < $1.value.index }.map { needs, held in
            let count = held.count > 1 ? "\(held.count) tasks." : nil
            let detail = [count, needs.detail(of: held.reason, moment)].compactMap(\.self).joined(separator: " ")
            let entry = JournalEntry(
                time: now.date, decision: .held,
                wait: Wait(reason: held.reason, since: now.date, detail: detail.isEmpty ? nil : detail),
                inputs: needs.inputs(moment))
            return (held.index, entry)
        }
    }
}

/// Keeps in mind since when the moment holds classes of tasks back, to say so when somebody asks.
package struct HeldClasses: Hashable, Sendable {
    private struct Held: Hashable {
        var reason: WaitReason
        /// Seconds since 1970.
        var since: Double
    }

    private var held: [HeldClass: Held] = [:]

    package init() {}

    /// Takes in what waits at this moment. A class that is held for the same reason as before has been held all along.
    package mutating func update(_ classes: some Sequence<HeldClass>, _ moment: DeviceMoment, _ now: ClockReading) {
        var found: [HeldClass: Held] = [:]
        for needs in classes {
            guard let reason = needs.hold(moment) else { continue }
            let known = held[needs].flatMap { $0.reason == reason ? $0.since : nil }
            found[needs] = Held(reason: reason, since: known ?? now.wallSeconds)
        }
        held = found
    }

    /// Seconds since 1970 from which on the class has been held; nil where it was not when last looked at.
    package func since(_ needs: HeldClass) -> Double? { held[needs]?.since }
}
