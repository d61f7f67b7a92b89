/// The conditions of the device: all values that decisions about time, power and network depend on.
///
/// The default values describe a machine that reports nothing. It counts as plugged in, in use, and on an unmetered
/// network, so nothing waits.
package struct DeviceConditions: Hashable, Sendable, Codable {
    package var power: PowerSource = .external
    /// The charge in percent, from 0 to 100; nil without a battery.
    package var batteryPercentage: Double?
    package var batteryWarning: BatteryWarning = .none
    /// Whether the user turned on power saving.
    package var isLowPower = false
    package var network = NetworkConditions()
    /// Whether nobody uses the device.
    package var isIdle = false
    /// Whether the machine is about to sleep, or asleep.
    package var isSleeping = false
    /// The number of free bytes in the file system of the partial downloads; nil if it is unknown.
    package var freeBytes: Int64?
    /// The number of times that the machine has started to sleep since the service started. With this number, a reader
    /// can detect a sleep that it did not observe. The number is not encoded, because it has no meaning for other
    /// processes.
    package var sleeps = 0

    private enum CodingKeys: String, CodingKey {
        case power, batteryPercentage, batteryWarning, isLowPower, network, isIdle, isSleeping, freeBytes
    }

    package init() {}

    /// Returns whether the machine woke from sleep after `former`, even if both readings show it awake.
    package func woke(since former: DeviceConditions) -> Bool {
        !isSleeping && (former.isSleeping || sleeps != former.sleeps)
    }
}

package enum PowerSource: String, Sendable, Codable, CaseIterable {
    case external
    case battery
}

/// The warning level of UPower, without its value "unknown".
package enum BatteryWarning: String, Sendable, Codable, CaseIterable {
    case none
    case discharging
    case low
    case critical
    case action
}

/// The conditions of the network with the default route.
package struct NetworkConditions: Hashable, Sendable, Codable {
    /// Whether an interface other than loopback is usable. A network without internet access counts.
    package var isAvailable = true
    package var connectivity = NetworkConnectivity.unknown
    package var kind = NetworkKind.other
    /// Whether the network is known to be metered or cellular.
    package var isExpensive = false
    /// Whether the user requested low data usage (Apple: Low Data Mode).
    package var isConstrained = false
    /// The name of the network. If the name changes, the network has changed.
    package var name: String?

    package init() {}
}

/// The result of NetworkManager's connectivity check.
package enum NetworkConnectivity: String, Sendable, Codable, CaseIterable {
    case unknown
    case none
    case portal
    case limited
    case full
}

package enum NetworkKind: String, Sendable, Codable, CaseIterable {
    case wired
    case wifi
    case cellular
    case bluetooth
    case vpn
    case other
}
