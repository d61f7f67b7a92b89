import NightshiftAPI

/// A time of the wall clock in the user's time zone.
///
/// Habits follow the local day. Days and times of day are computed in whole seconds, so a time belongs to the same
/// half-hour on every machine.
package struct LocalMoment: Hashable, Sendable, Codable {
    /// The time in seconds since 1970.
    package var seconds: Double
    /// The offset of local time from UTC in seconds.
    package var offset: Int

    package init(seconds: Double, offset: Int = 0) {
        self.seconds = seconds
        self.offset = offset
    }

    package static let daySeconds = 86_400.0

    /// The whole seconds of local time since 1970, limited to a range without arithmetic overflow.
    private var localSeconds: Int {
        let bounded = max(-1e12, min(1e12, seconds))
        return Int(saturating: bounded.rounded(.down)) + max(-90_000, min(90_000, offset))
    }

    /// The number of days since 1970-01-01.
    package var day: Int {
        let local = localSeconds
        return (local - Self.modulo(local, 86_400)) / 86_400
    }

    package var secondOfDay: Int { Self.modulo(localSeconds, 86_400) }

    /// The day of the week; 0 is Monday.
    package var weekday: Int { Self.weekday(ofDay: day) }

    /// Returns the day of the week; 0 is Monday. 1970-01-01 was a Thursday.
    static func weekday(ofDay day: Int) -> Int { modulo(day + 3, 7) }

    func adding(_ interval: Double) -> LocalMoment { LocalMoment(seconds: seconds + interval, offset: offset) }

    private static func modulo(_ value: Int, _ divisor: Int) -> Int {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
