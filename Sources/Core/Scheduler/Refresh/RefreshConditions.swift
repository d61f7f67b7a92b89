package import NightshiftAPI

/// The current conditions of the device and the user's settings, as far as they affect background fetches.
package struct RefreshConditions: Hashable, Sendable {
    package var device: DeviceConditions
    /// Whether the user has switched background refresh on for all apps.
    package var isOn = true
    /// Whether the device is already awake, so that a fetch does not have to wake it. The device is awake if it is in
    /// use, in a maintenance window, or handling another wake.
    package var isAwake = false
    /// The time in seconds since 1970 of the next known wake of the device for another reason.
    package var nextWake: Double?

    /// The battery percentage below which fetches do not begin on battery (Apple: critically low battery).
    package static let criticalBattery = 20.0

    package init(device: DeviceConditions = DeviceConditions()) {
        self.device = device
    }

    /// The reason that prevents every fetch; nil if fetches are possible.
    package var hold: RefreshHold? {
        if !isOn { return .allSwitchedOff }
        if device.isSleeping { return .machineSleeps }
        if device.power == .battery {
            if device.batteryPercentage.map({ $0 < Self.criticalBattery }) ?? false { return .batteryLow }
            switch device.batteryWarning {
            case .none, .discharging: break
            case .low, .critical, .action: return .batteryLow
            }
        }
        if device.isLowPower { return .lowPower }
        if !device.network.isAvailable { return .noNetwork }
        if device.network.isConstrained { return .constrainedNetwork }
        return nil
    }
}
