package import NightshiftAPI

/// Decides whether a task with given rules may run in the current device state.
///
/// This is a pure function of the rules, the device conditions and the phase of doze. It returns a reason to wait. The
/// table is in `docs/decisions/0014`.
package enum Permission {
    /// Returns the battery percentage below which a discretionary task does not run on battery.
    package static func batteryFloor(_ discretion: TransferRules.Discretion) -> Double {
        switch discretion {
        case .none: 0
        case .relaxed: 20
        case .full: 50
        }
    }

    /// Returns the reason why a task with these rules has to wait; nil if it may run.
    ///
    /// Reasons that only the user can resolve come first. Doze comes last, so a task that waits only for doze runs in
    /// the next window.
    ///
    /// - Parameter isLoopback: whether the destination is this machine. In this case the task needs no network, and the
    ///   kind of network does not matter.
    package static func hold(_ rules: TransferRules, _ moment: DeviceState, isLoopback: Bool) -> WaitReason? {
        let conditions = moment.conditions
        if !isLoopback, let reason = hold(rules, conditions.network) { return reason }
        if conditions.power == .battery {
            if rules.requiresExternalPower { return .externalPower }
            if rules.minimumBattery > 0, (conditions.batteryPercentage ?? -1) < Double(rules.minimumBattery) {
                return .battery
            }
        }
        guard rules.discretion != .none else { return nil }
        if !obstacles(rules.discretion, conditions, isLoopback: isLoopback).isEmpty { return .discretionary }
        return moment.phase == .dozing ? .doze : nil
    }

    private static func hold(_ rules: TransferRules, _ network: NetworkConditions) -> WaitReason? {
        guard network.isAvailable else { return .network }
        if !rules.allowsCellularAccess, network.kind == .cellular { return .cellularNetwork }
        if !rules.allowsExpensiveNetworkAccess, network.isExpensive { return .expensiveNetwork }
        if !rules.allowsConstrainedNetworkAccess, network.isConstrained { return .constrainedNetwork }
        return nil
    }

    /// A condition that makes a discretionary task wait.
    package enum Obstacle: Sendable, CaseIterable {
        case expensiveNetwork
        case constrainedNetwork
        case lowPower
        case lowBattery
        case batteryWarning
    }

    /// Returns all conditions that make a discretionary task wait, apart from doze.
    package static func obstacles(
        _ discretion: TransferRules.Discretion, _ conditions: DeviceConditions, isLoopback: Bool
    ) -> [Obstacle] {
        guard discretion != .none else { return [] }
        let isFull = discretion == .full
        var found: [Obstacle] = []
        if !isLoopback, conditions.network.isExpensive { found.append(.expensiveNetwork) }
        if !isLoopback, isFull, conditions.network.isConstrained { found.append(.constrainedNetwork) }
        if isFull, conditions.isLowPower { found.append(.lowPower) }
        guard conditions.power == .battery else { return found }
        if let level = conditions.batteryPercentage, level < batteryFloor(discretion) { found.append(.lowBattery) }
        switch conditions.batteryWarning {
        case .none, .discharging: break
        case .low, .critical, .action: found.append(.batteryWarning)
        }
        return found
    }
}
