import Foundation
import NightshiftAPI
import NightshiftClient

/// The device's battery, from the device state of the service.
package struct BatteryReading: Hashable, Sendable {
    /// The charge, from 0 to 1.
    package var level: Float
    package var isOnExternalPower: Bool

    /// Creates a reading from the device conditions. Returns nil if the device has no battery.
    init?(_ conditions: DeviceConditions) {
        guard let percentage = conditions.batteryPercentage else { return nil }
        level = Float(percentage.limited(to: 0...100, or: 0) / 100)
        isOnExternalPower = conditions.power == .external
    }
}

extension Application {
    /// The timeout for a request for the device state.
    nonisolated static let deviceTimeout: Duration = .seconds(2)

    /// The current battery state, requested from the service. Nil if there is no service or no battery.
    package nonisolated var battery: BatteryReading? {
        let status = try? connection.request(.device, hasty: true, timeout: Self.deviceTimeout)
        return status.flatMap { BatteryReading($0.conditions) }
    }
}
