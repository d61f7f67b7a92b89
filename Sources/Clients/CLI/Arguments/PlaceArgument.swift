import ArgumentParser
import NightshiftAPI

/// A location from the command line, in degrees of latitude and longitude: `52.5163,13.3777`. South and west have a
/// minus sign or a letter: `33.5S,70.7W`.
struct PlaceArgument: Hashable, Sendable {
    var coordinate: Coordinate

    static func parse(_ text: String) throws -> PlaceArgument {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, let latitude = degrees(parts[0], "N", "S"), let longitude = degrees(parts[1], "E", "W"),
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else {
            throw ValidationError(
                "a location is a latitude from -90 to 90 and a longitude from -180 to 180, such as 52.5163,13.3777 or "
                    + "33.5S,70.7W")
        }
        return PlaceArgument(coordinate: coordinate)
    }

    /// Returns the degrees, or nil if the text is invalid. The text may have a letter or a sign, but not both.
    private static func degrees(_ text: Substring, _ positive: Character, _ negative: Character) -> Double? {
        guard let last = text.last else { return nil }
        switch Character(last.uppercased()) {
        case positive: return unsigned(text.dropLast())
        case negative: return unsigned(text.dropLast()).map { -$0 }
        default: return number(text)
        }
    }

    private static func unsigned(_ text: Substring) -> Double? {
        text.first == "-" || text.first == "+" ? nil : number(text)
    }

    /// Parses a decimal number. Other forms that `Double` accepts, such as `nan` and `0x1p3`, are not valid.
    private static func number(_ text: Substring) -> Double? {
        guard text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.".contains($0)) }) else { return nil }
        return Double(text)
    }
}

/// A radius from the command line, in metres or kilometres: `150`, `150m`, `1.5km`.
struct RadiusArgument: Hashable, Sendable {
    var metres: Double

    static func parse(_ text: String) throws -> RadiusArgument {
        let word = text.lowercased()
        let (digits, factor): (Substring, Double) =
            if word.hasSuffix("km") {
                (word.dropLast(2), 1_000)
            } else if word.hasSuffix("m") {
                (word.dropLast(), 1)
            } else {
                (word[...], 1)
            }
        guard digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits),
            number * factor <= MonitoredRegion.largestRadius
        else {
            throw ValidationError("a radius is a number of metres, or of kilometres with km, up to 10000km: 150, 1.5km")
        }
        return RadiusArgument(metres: number * factor)
    }
}
