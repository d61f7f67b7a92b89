import ArgumentParser
import NightshiftAPI

/// A duration from the command line: `90`, `90s`, `10m`, `1h30m`, `2d`, `1w`. A number without a unit is in seconds.
struct TimeSpan: Hashable, Sendable {
    var seconds: Double

    static func parse(_ text: String) throws -> TimeSpan {
        var rest = text[...]
        var total = 0.0
        if let plain = number(&rest), rest.isEmpty {
            total = plain
        } else {
            rest = text[...]
            repeat {
                guard let value = number(&rest) else { throw mistake }
                let name = rest.prefix { $0.isLetter }
                guard let unit = units[name.lowercased()] else { throw mistake }
                rest = rest[name.endIndex...]
                total += value * unit
            } while !rest.isEmpty
        }
        guard total <= Limits.longestTimeout else { throw ValidationError("a duration must not exceed 100 years") }
        return TimeSpan(seconds: total)
    }

    private static func number(_ rest: inout Substring) -> Double? {
        let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(digits) else { return nil }
        rest = rest[digits.endIndex...]
        return value
    }

    private static let mistake = ValidationError("write a duration as 90s, 10m, 1h30m or 2d")
    private static let units: [String: Double] = [
        "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800,
    ]
}
