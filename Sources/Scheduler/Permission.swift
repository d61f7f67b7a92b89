package import NightshiftAPI

/// Decides whether the moment lets a task run that needs what its rules say.
///
/// Pure: rules, what the device says, and the phase of doze in; a reason to wait out. `docs/decisions/0014` has the table.
package enum Permission {
    /// Percent below which a task that waits for a good moment leaves the battery alone.
    package static func batteryFloor(_ discretion: TransferRules.Discretion) -> Double {
        switch discretion {
        case .none: 0
        case .relaxed: 20
        case .full: 50
        }
    }

    /// The reason for which a task with these rules has to wait; nil where it may run.
    ///
    /// What nobody but the user can lift is named first, doze last: a task that waits for nothing but doze runs in the next
    /// window.
    ///
    /// - Parameter isLoopback: whether it goes to this machine itself, which needs no network and knows no kind of it.
    package static func hold(_ rules: TransferRules, _ moment: DeviceMoment, isLoopback: Bool) -> WaitReason? {
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

    /// What makes a moment a bad one for a task that can wait.
    package enum Obstacle: Sendable, CaseIterable {
        case expensiveNetwork
        case constrainedNetwork
        case lowPower
        case lowBattery
        case batteryWarning
    }

    /// Everything that speaks against the moment, doze aside.
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
