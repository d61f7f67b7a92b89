/// What the device says of itself: everything that decisions over time, power and network look at.
///
/// The values that stand here by themselves are those of a machine that tells nothing: plugged in, in use, on a network that
/// costs nothing. On such a machine nothing waits.
package struct DeviceConditions: Hashable, Sendable, Codable {
    package var power: PowerSource = .external
    /// 0...100; nil without a battery.
    package var batteryPercentage: Double?
    package var batteryWarning: BatteryWarning = .none
    /// The user asked the device to save power.
    package var isLowPower = false
    package var network = NetworkConditions()
    /// Nobody uses the device.
    package var isIdle = false
    /// The machine is about to sleep, or asleep.
    package var isSleeping = false
    /// Bytes free where downloads begin; nil where that is not known.
    package var freeBytes: Int64?
    /// How often the machine has begun to sleep since the service began: who looks only afterwards finds by it that it slept.
    /// Not encoded: to others it says nothing.
    package var sleeps = 0

    private enum CodingKeys: String, CodingKey {
        case power, batteryPercentage, batteryWarning, isLowPower, network, isIdle, isSleeping, freeBytes
    }

    package init() {}

    /// Whether the machine has woken since `former`, though all of its sleep may lie in between.
    package func woke(since former: DeviceConditions) -> Bool {
        !isSleeping && (former.isSleeping || sleeps != former.sleeps)
    }
}

package enum PowerSource: String, Sendable, Codable, CaseIterable {
    case external
    case battery
}

/// UPower's warning level, without its "unknown".
package enum BatteryWarning: String, Sendable, Codable, CaseIterable {
    case none
    case discharging
    case low
    case critical
    case action
}

/// The network that the default route leads through.
package struct NetworkConditions: Hashable, Sendable, Codable {
    /// Whether some interface beyond loopback can be used. A network without the internet counts.
    package var isAvailable = true
    package var connectivity = NetworkConnectivity.unknown
    package var kind = NetworkKind.other
    /// It costs by the byte, as far as anybody knows (metered, or a mobile network).
    package var isExpensive = false
    /// The user asked for as little traffic as possible (Apple: Low Data Mode).
    package var isConstrained = false
    /// Tells one network from another: a change of it is a change of network.
    package var name: String?

    package init() {}
}

/// NetworkManager's connectivity check.
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
