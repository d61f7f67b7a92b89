package import NightshiftAPI

/// What the device and its user allow of background fetches now.
package struct RefreshConditions: Hashable, Sendable {
    package var device: DeviceConditions
    /// The user's switch for all apps.
    package var isOn = true
    /// Whether this device is awake already, so that a fetch need not wake it: in use, in a window of doze, handling another wake.
    package var isAwake = false
    /// When the device will be awake anyway, in seconds since 1970, as far as that is known.
    package var nextWake: Double?

    /// Percent below which nothing is fetched on battery (Apple: critically low battery).
    package static let criticalBattery = 20.0

    package init(device: DeviceConditions = DeviceConditions()) {
        self.device = device
    }

    /// What forbids every fetch.
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
