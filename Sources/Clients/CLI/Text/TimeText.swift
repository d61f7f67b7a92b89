import Foundation
import NightshiftAPI

/// A formatter of times, both absolute and relative to the present, in one time zone.
struct TimeText: Sendable {
    var now: Date
    var timeZone: TimeZone

    /// Returns text such as "2026-11-21 14:02:11".
    func absolute(_ date: Date) -> String {
        let part = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        return String(
            format: "%04d-%02d-%02d %02d:%02d:%02d", part.year ?? 0, part.month ?? 0, part.day ?? 0, part.hour ?? 0,
            part.minute ?? 0, part.second ?? 0)
    }

    /// Returns text such as "14:02".
    func clock(_ date: Date) -> String {
        let part = calendar.dateComponents([.hour, .minute], from: date)
        return String(format: "%02d:%02d", part.hour ?? 0, part.minute ?? 0)
    }

    /// Returns text such as "4 min ago", "in 12 s" or "now".
    func relative(_ date: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        if abs(seconds) < 1 { return "now" }
        return seconds > 0
            ? "in " + QuantityText.duration(seconds) : QuantityText.duration((-seconds).rounded(.down)) + " ago"
    }

    func both(_ date: Date) -> String {
        "\(absolute(date)) (\(relative(date)))"
    }

    /// Returns a text from the service with its times, which are in UTC, converted to the local time zone.
    func localized(_ words: String) -> String {
        words.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/) { match in
            Timestamp.date(String(match.output)).map { absolute($0) } ?? String(match.output)
        }
    }

    /// Returns a text from the service with local times, escaped for a terminal.
    func words(_ words: String) -> String { TerminalText.escaped(localized(words)) }

    var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }
}
