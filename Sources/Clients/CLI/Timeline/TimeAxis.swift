import Foundation

/// The ticks of a time axis.
struct TimeAxis {
    var start: Date
    var end: Date
    var timeZone: TimeZone

    struct Tick: Hashable {
        var date: Date
        var label: String
        /// The text with the day, which only the first tick of each day has.
        var day: String?
    }

    /// The number of seconds between two ticks: the smallest step that gives at most ``mostTicks`` ticks.
    var step: Double {
        let seconds = end.timeIntervalSince(start)
        return Self.steps.first { seconds / $0 <= Double(Self.mostTicks) }
            ?? (seconds / Double(Self.mostTicks)).rounded()
    }

    var ticks: [Tick] {
        let step = step
        let offset = Double(timeZone.secondsFromGMT(for: start))
        var moment = ((start.timeIntervalSince1970 + offset) / step).rounded(.up) * step - offset
        var result: [Tick] = []
        var lastDay: String?
        while moment <= end.timeIntervalSince1970 {
            let date = Date(timeIntervalSince1970: moment)
            let day = self.day(date)
            result.append(Tick(date: date, label: label(date, step), day: day == lastDay ? nil : day))
            lastDay = day
            moment += step
        }
        return result
    }

    /// Returns text such as "Mon 5 Jan".
    func day(_ date: Date) -> String {
        let part = calendar.dateComponents([.weekday, .day, .month], from: date)
        let weekday = Self.weekdays[((part.weekday ?? 1) - 1) % 7]
        let month = Self.months[((part.month ?? 1) - 1) % 12]
        return "\(weekday) \(part.day ?? 0) \(month)"
    }

    /// Returns text such as "21:05:30".
    func clock(_ date: Date) -> String {
        let part = calendar.dateComponents([.hour, .minute, .second], from: date)
        return [part.hour, part.minute, part.second].map { Self.twoDigits($0 ?? 0) }.joined(separator: ":")
    }

    private func label(_ date: Date, _ step: Double) -> String {
        String(clock(date).prefix(step < 60 ? 8 : 5))
    }

    private static func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : String(value) }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    static let mostTicks = 14
    private static let steps: [Double] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400, 21_600, 43_200, 86_400,
        172_800, 604_800, 1_209_600,
    ]
    // The program prints all texts in English, whatever the locale is.
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
