import NightshiftAPI

/// A parser for sizes in bytes: `500K`, `2M`, `1.5M`, `100000`. The units K, M and G are powers of 1024, as in curl and
/// wget.
enum ByteCount {
    /// Returns the number of bytes, or nil if `text` is not a size.
    static func parse(_ text: some StringProtocol) -> Int64? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let factor: Double? =
            switch text[number.endIndex...].lowercased() {
            case "", "b": 1
            case "k", "kb", "kib": 1024
            case "m", "mb", "mib": 1_048_576
            case "g", "gb", "gib": 1_073_741_824
            default: nil
            }
        guard let value = Double(number), let factor, value * factor < 9e18 else { return nil }
        let bytes = Int64(saturating: value * factor)
        // A positive size of less than one byte is a mistake. It must not become zero.
        return bytes > 0 || value == 0 ? bytes : nil
    }
}
