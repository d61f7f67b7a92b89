import Foundation

extension [Double] {
    var median: Double { percentile(50) }

    /// The smallest value that is at least as large as `percent` of all values; for 50, the mean of the middle two.
    func percentile(_ percent: Double) -> Double {
        guard !isEmpty else { return .nan }
        let sorted = sorted()
        if percent == 50 && count.isMultiple(of: 2) { return (sorted[count / 2 - 1] + sorted[count / 2]) / 2 }
        let rank = Int((percent / 100 * Double(count)).rounded(.up))
        return sorted[Swift.min(Swift.max(rank - 1, 0), count - 1)]
    }
}

/// The format of numbers in tables.
enum Format {
    static func number(_ value: Double, _ digits: Int = 2) -> String {
        value.isNaN ? "–" : String(format: "%.\(digits)f", value)
    }

    static func mebibytes(_ bytes: Int64) -> String { number(Double(bytes) / 1_048_576, 1) }

    static func milliseconds(_ seconds: Double) -> String { number(seconds * 1000, 2) }
}
