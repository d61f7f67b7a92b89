import Foundation
import NightshiftAPI
import NightshiftClient

/// The state of the device's battery, from the service's report of the device state.
package struct BatteryReading: Hashable, Sendable {
    /// The charge, from 0 to 1.
    package var level: Float
    package var isOnExternalPower: Bool

    /// Creates a reading from the device state. Returns nil if the device has no battery.
    init?(_ conditions: DeviceConditions) {
        guard let percentage = conditions.batteryPercentage else { return nil }
        level = Float(percentage.limited(to: 0...100, or: 0) / 100)
        isOnExternalPower = conditions.power == .external
    }
}

extension Application {
    /// The timeout for a request for the device state.
    nonisolated static let deviceTimeout: Duration = .seconds(2)

    /// The current battery state, requested from the service. The value is nil if no service is running or the device
    /// has no battery.
    package nonisolated var battery: BatteryReading? {
        let status = try? connection.request(.device, hasty: true, timeout: Self.deviceTimeout)
        return status.flatMap { BatteryReading($0.conditions) }
    }
}
