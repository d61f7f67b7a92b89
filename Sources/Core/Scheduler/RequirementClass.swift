package import NightshiftAPI

/// A class of tasks with the same requirements.
package struct RequirementClass: Hashable, Sendable {
    package var rules: TransferRules
    package var isLoopback: Bool

    package init(rules: TransferRules, isLoopback: Bool) {
        self.rules = rules
        self.isLoopback = isLoopback
    }

    /// Returns the reason why the tasks have to wait; nil if they may run.
    package func hold(_ moment: DeviceState) -> WaitReason? {
        Permission.hold(rules, moment, isLoopback: isLoopback)
    }

    /// Returns details of the reason for the journal and `why`; nil if the reason is sufficient.
    package func detail(of reason: WaitReason, _ moment: DeviceState) -> String? {
        Permission.detail(of: reason, rules, moment, isLoopback: isLoopback)
    }

    /// Returns the inputs of a decision about the tasks.
    package func inputs(_ moment: DeviceState) -> [String: String] {
        Permission.inputs(rules, moment, isLoopback: isLoopback)
    }

    /// Returns whether a waiting task of the class keeps a maintenance window open. This is true if the task is
    /// discretionary and could run in a window.
    package func wantsWindow(_ conditions: DeviceConditions) -> Bool {
        rules.discretion != .none && hold(DeviceState(conditions: conditions, phase: .window)) == nil
    }

    /// Whether a running task of the class keeps a maintenance window open.
    package var worksInWindow: Bool { rules.discretion != .none }

    /// Returns journal entries for tasks that are about to be accepted and that the device state keeps from starting.
    /// Tasks with equal requirements share one entry, with the index of the first such task.
    ///
    /// Waits for a missing network are not included, because a separate entry records them.
    ///
    /// - Parameter classes: the classes of the tasks in order; nil for a task that does not start for other reasons.
    package static func heldFromTheFirst(
        _ classes: [RequirementClass?], _ moment: DeviceState, _ now: ClockReading
    ) -> [(index: Int, entry: JournalEntry)] {
        var first: [RequirementClass: (index: Int, reason: WaitReason, count: Int)] = [:]
        for (index, needs) in classes.enumerated() {
            guard let needs else { continue }
            if first[needs] != nil {
                first[needs]?.count += 1
            } else if let reason = needs.hold(moment), reason != .network {
                first[needs] = (index, reason, 1)
            }
        }
        return first.sorted { $0.value.index < $1.value.index }.map { needs, held in
            let count = held.count > 1 ? "\(held.count) transfers." : nil
            let detail = [count, needs.detail(of: held.reason, moment)].compactMap(\.self).joined(separator: " ")
            let entry = JournalEntry(
                time: now.date, decision: .held,
                wait: Wait(reason: held.reason, since: now.date, detail: detail.isEmpty ? nil : detail),
                inputs: needs.inputs(moment))
            return (held.index, entry)
        }
    }
}

/// A record of the times since which the device state has blocked classes of tasks.
package struct RequirementClasses: Hashable, Sendable {
    private struct Held: Hashable {
        var reason: WaitReason
        /// The start of the block in seconds since 1970.
        var since: Double
    }

    private var held: [RequirementClass: Held] = [:]

    package init() {}

    /// Records the classes that wait in this device state. A class keeps its start time while it is blocked for the
    /// same reason.
    package mutating func update(_ classes: some Sequence<RequirementClass>, _ moment: DeviceState, _ now: ClockReading)
    {
        var found: [RequirementClass: Held] = [:]
        for needs in classes {
            guard let reason = needs.hold(moment) else { continue }
            let known = held[needs].flatMap { $0.reason == reason ? $0.since : nil }
            found[needs] = Held(reason: reason, since: known ?? now.wallSeconds)
        }
        held = found
    }

    /// Returns the time in seconds since 1970 since which the class has been blocked; nil if it was not blocked at the
    /// last update.
    package func since(_ needs: RequirementClass) -> Double? { held[needs]?.since }
}
