import ArgumentParser
import NightshiftAPI

/// Bytes per second as typed: `500K`, `2M`, `1.5M`, `100000`; K, M and G are powers of 1024, as with curl and wget.
struct Rate: Hashable, Sendable {
    /// 0 is no limit.
    var bytesPerSecond: Int64

    static func parse(_ text: String) throws -> Rate {
        if ["none", "unlimited"].contains(text.lowercased()) { return Rate(bytesPerSecond: 0) }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        var unit = text[number.endIndex...].lowercased()
        if unit.hasSuffix("/s") { unit.removeLast(2) }
        let factor: Double? =
            switch unit {
            case "", "b": 1
            case "k", "kb", "kib": 1024
            case "m", "mb", "mib": 1_048_576
            case "g", "gb", "gib": 1_073_741_824
            default: nil
            }
        guard let value = Double(number), let factor, value * factor < 9e18 else {
            throw ValidationError("a rate is a number with K, M or G, such as 500K or 1.5M, or 'none'")
        }
        let rate = Int64(saturating: value * factor)
        guard rate > 0 || value == 0 else { throw ValidationError("less than a byte per second is no rate") }
        return Rate(bytesPerSecond: rate)
    }
}
