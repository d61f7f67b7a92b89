import Foundation

/// A formatter of quantities for people. Both programs write sizes and rates with it.
package enum QuantityText {
    /// Returns text such as "512 B", "1.5 KiB" or "734 MiB". The units are powers of 1024, as in rates on the command
    /// line.
    package static func size(_ bytes: Int64) -> String {
        guard bytes.magnitude >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        // From 1023.5 on, the value would be shown as 1024.
        while abs(value) >= (unit == 0 ? 1024 : 1023.5), unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let digits = abs(value) < 99.95 ? 1 : 0
        return String(format: "%.\(digits)f ", value) + units[unit]
    }

    package static func rate(_ bytesPerSecond: Double) -> String {
        guard bytesPerSecond.isFinite, bytesPerSecond > 0 else { return "0 B/s" }
        return size(Int64(saturating: bytesPerSecond)) + "/s"
    }

    private static let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
}
