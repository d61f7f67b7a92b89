import Foundation
import NightshiftAPI
import NightshiftClient

/// The device's battery, as the service's device state has it.
package struct BatteryReading: Hashable, Sendable {
    /// 0...1.
    package var level: Float
    package var isOnExternalPower: Bool

    /// Nil for a device without a battery.
    init?(_ conditions: DeviceConditions) {
        guard let percentage = conditions.batteryPercentage else { return nil }
        level = Float(percentage.limited(to: 0...100, or: 0) / 100)
        isOnExternalPower = conditions.power == .external
    }
}

extension Application {
    /// How long the service's answer about the device is waited for.
    nonisolated static let devicePatience: Duration = .seconds(2)

    /// Read from the service; nil without one, and without a battery.
    package nonisolated var battery: BatteryReading? {
        let status = try? connection.request(.device, hasty: true, patience: Self.devicePatience)
        return status.flatMap { BatteryReading($0.conditions) }
    }
}
