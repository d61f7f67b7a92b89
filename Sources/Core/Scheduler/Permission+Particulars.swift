package import NightshiftAPI

/// The inputs of a decision, and the reason for it as text.
extension Permission {
    /// Returns the values that ``hold(_:_:isLoopback:)`` examines for these rules, under their names in the journal.
    package static func inputs(
        _ rules: TransferRules, _ moment: DeviceState, isLoopback: Bool
    ) -> [String: String] {
        var keys: Set<DeviceKey> = isLoopback ? [] : [.network]
        if !isLoopback {
            if !rules.allowsCellularAccess { keys.insert(.interface) }
            if !rules.allowsExpensiveNetworkAccess { keys.insert(.expensive) }
            if !rules.allowsConstrainedNetworkAccess { keys.insert(.constrained) }
        }
        if rules.requiresExternalPower { keys.insert(.power) }
        if rules.minimumBattery > 0 { keys.formUnion([.power, .battery]) }
        if rules.discretion != .none {
            keys.formUnion([.power, .battery, .warning])
            if !isLoopback { keys.insert(.expensive) }
        }
        if rules.discretion == .full {
            keys.insert(.lowPower)
            if !isLoopback { keys.insert(.constrained) }
        }
        var inputs = keys.reduce(into: [:]) { $0[$1.rawValue] = moment.conditions[$1] }
        if rules.discretion != .none {
            inputs[phaseInput] = moment.phase.rawValue
            inputs[discretionInput] = rules.discretion.rawValue
        }
        if rules.minimumBattery > 0 { inputs[minimumBatteryInput] = String(rules.minimumBattery) }
        return inputs
    }

    /// The journal name of the phase of doze.
    package static let phaseInput = "phase"
    /// The journal name of the task's discretion.
    package static let discretionInput = "discretion"
    /// The journal name of the battery percentage that the task requires.
    package static let minimumBatteryInput = "minimumBattery"

    /// Returns the details of a wait in this device state; nil if its reason is sufficient.
    package static func detail(
        of reason: WaitReason, _ rules: TransferRules, _ moment: DeviceState, isLoopback: Bool
    ) -> String? {
        let conditions = moment.conditions
        switch reason {
        case .cellularNetwork, .expensiveNetwork, .constrainedNetwork:
            return conditions.network.name.map { "The network is '\($0)'." }
        case .externalPower:
            return conditions.batteryPercentage.map { "The battery is at \(percent($0))." }
        case .battery:
            let level = conditions.batteryPercentage.map { "The battery is at \(percent($0))" }
            return "\(level ?? "The battery level is unknown"); \(rules.minimumBattery) % is required."
        case .discretionary:
            let sentences = obstacles(rules.discretion, conditions, isLoopback: isLoopback).map {
                sentence($0, rules.discretion, conditions)
            }
            return sentences.isEmpty ? nil : sentences.joined(separator: " ")
        default: return nil
        }
    }

    private static func sentence(
        _ obstacle: Obstacle, _ discretion: TransferRules.Discretion, _ conditions: DeviceConditions
    ) -> String {
        switch obstacle {
        case .expensiveNetwork: "The network is metered."
        case .constrainedNetwork: "Data saver is on for this network."
        case .lowPower: "Low-power mode is on."
        case .lowBattery:
            "The battery is at \(percent(conditions.batteryPercentage ?? 0)); "
                + "\(percent(batteryFloor(discretion))) is required."
        case .batteryWarning: "The battery is nearly empty."
        }
    }

    /// Returns a percentage as text. The value is rounded down, because a battery at 49.6 % does not reach 50 %.
    private static func percent(_ value: Double) -> String { "\(Int(saturating: value.rounded(.down))) %" }
}
