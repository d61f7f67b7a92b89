package import NightshiftAPI

/// The inputs of a decision, and its reason in a person's words.
extension Permission {
    /// The values that ``hold(_:_:isLoopback:)`` looks at for these rules, by their names in the journal.
    package static func inputs(
        _ rules: TransferRules, _ moment: DeviceMoment, isLoopback: Bool
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

    /// The phase of doze among the inputs.
    package static let phaseInput = "phase"
    /// How good a moment the task waits for.
    package static let discretionInput = "discretion"
    /// The percentage that the task asks for.
    package static let minimumBatteryInput = "minimumBattery"

    /// The particulars of a hold, as the moment shows them; nil where its reason says it all.
    package static func detail(
        of reason: WaitReason, _ rules: TransferRules, _ moment: DeviceMoment, isLoopback: Bool
    ) -> String? {
        let conditions = moment.conditions
        switch reason {
        case .cellularNetwork, .expensiveNetwork, .constrainedNetwork:
            return conditions.network.name.map { "The network is '\($0)'." }
        case .externalPower:
            return conditions.batteryPercentage.map { "The battery holds \(percent($0))." }
        case .battery:
            let level = conditions.batteryPercentage.map { "The battery holds \(percent($0))" }
            return "\(level ?? "What the battery holds is not known"); it asks for \(rules.minimumBattery) %."
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
        case .expensiveNetwork: "The network costs by the byte."
        case .constrainedNetwork: "Data saver is on for this network."
        case .lowPower: "Low-power mode is on."
        case .lowBattery:
            "The battery holds \(percent(conditions.batteryPercentage ?? 0)); "
                + "it waits for \(percent(batteryFloor(discretion)))."
        case .batteryWarning: "The battery is nearly empty."
        }
    }

    /// Rounded down: one that holds 49.6 % does not hold 50.
    private static func percent(_ value: Double) -> String { "\(Int(saturating: value.rounded(.down))) %" }
}
