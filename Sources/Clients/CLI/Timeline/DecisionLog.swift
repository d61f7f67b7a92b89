import Foundation
import NightshiftAPI

/// The decisions of a simulation as lines. Each line has the time since the start of the simulation.
struct DecisionLog {
    var start: Date
    var style: Style

    func line(_ entry: JournalEntry) -> String {
        let time = Self.time(entry.time.timeIntervalSince(start))
        return DecisionText(style: style).line(entry, time: TerminalText.rightAligned(time, to: 14))
    }

    /// Returns text such as "0:00.000", "7:30:15.000" or "1d 07:30:15.000".
    static func time(_ seconds: Double) -> String {
        let total = Int(saturating: (max(0, seconds) * 1_000).rounded())
        let (days, hours) = (total / 86_400_000, total / 3_600_000 % 24)
        let (minutes, milliseconds) = (total / 60_000 % 60, total % 60_000)
        let rest = String(format: "%02d:%06.3f", minutes, Double(milliseconds) / 1_000)
        if days > 0 { return String(format: "%dd %02d:", days, hours) + rest }
        return hours > 0 ? "\(hours):\(rest)" : rest
    }
}
