import Foundation
import NightshiftAPI

/// Durations, percentages and bars for people.
extension QuantityText {
    /// Returns the duration in its two largest units: "4 s", "1 min 5 s", "2 h 3 min", "3 d 4 h".
    static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite else { return "unlimited" }
        // The value is rounded up, so that the remaining time of a pause is never shown as "0 s".
        let total = Int64(saturating: max(0, seconds.rounded(.up)))
        let parts: [(Int64, String)] = [
            (total / 86_400, "d"), (total % 86_400 / 3_600, "h"), (total % 3_600 / 60, "min"), (total % 60, "s"),
        ]
        guard let first = parts.firstIndex(where: { $0.0 > 0 }) else { return "0 s" }
        return parts[first...].prefix(2).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }

    /// Returns the remaining time in a short form: "0:04", "12:03", "1:02:03", "3d 04h".
    static func countdown(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 8_640_000 else { return "--:--" }
        let total = Int(saturating: max(0, seconds.rounded(.up)))
        if total >= 86_400 { return String(format: "%dd %02dh", total / 86_400, total % 86_400 / 3_600) }
        if total >= 3_600 {
            return String(format: "%d:%02d:%02d", total / 3_600, total % 3_600 / 60, total % 60)
        }
        return String(format: "%d:%02d", total / 60, total % 60)
    }

    /// Returns the estimated number of remaining seconds, or nil if an estimate is not possible.
    static func secondsLeft(done: Int64, of total: Int64, bytesPerSecond: Double) -> Double? {
        guard total >= done, total > 0, bytesPerSecond >= 1 else { return nil }
        return Double(total - done) / bytesPerSecond
    }

    /// Returns the percentage, rounded down. It is 100 only if everything is done.
    static func percent(done: Int64, of total: Int64) -> Int? {
        guard total > 0, done >= 0 else { return nil }
        if done >= total { return 100 }
        return Int(saturating: Double(done) / Double(total) * 100)
    }

    /// Returns a bar such as "[=====>    ]". Its width is `columns`, including the brackets.
    static func bar(done: Int64, of total: Int64, columns: Int) -> String {
        let inner = columns - 2
        guard inner > 0, total > 0 else { return "" }
        let filled = min(inner, max(0, Int(saturating: Double(inner) * Double(done) / Double(total))))
        if filled == inner { return "[" + String(repeating: "=", count: inner) + "]" }
        return "[" + String(repeating: "=", count: filled) + ">" + String(repeating: " ", count: inner - filled - 1)
            + "]"
    }
}
