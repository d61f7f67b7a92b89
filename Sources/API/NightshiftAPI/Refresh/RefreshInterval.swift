/// The minimum interval between background fetches of an app. The text form is `never`, `minimum`, or a number of
/// seconds such as `900`.
package enum RefreshInterval: Hashable, Sendable, LosslessStringConvertible {
    /// The interval without any background fetches. This is the default until the app sets an interval.
    case never
    /// The shortest interval that the service allows. The service decides when to fetch.
    case minimum
    /// A minimum number of seconds between the starts of two fetches. After this time, the service decides when to
    /// fetch.
    case seconds(Double)

    /// The longest interval in seconds, which is one year. No app needs a longer interval.
    package static let longest = 31_536_000.0

    /// The shortest interval in seconds. A shorter interval means ``minimum``, because it ends before a fetch does. Its
    /// text would also need an exponent.
    private static let shortest = 0.001

    /// The number of seconds after each fetch in which no further fetch starts.
    package var sleep: Double {
        guard case .seconds(let seconds) = self, seconds >= Self.shortest else { return 0 }
        return min(seconds, Self.longest)
    }

    package init?(_ description: String) {
        switch description {
        case "never": self = .never
        case "minimum": self = .minimum
        default:
            // Only digits and points are allowed, because `Double` also parses 'inf', '0x1p3' and '+7'.
            guard description.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
                let seconds = Double(description), seconds.isFinite, seconds <= Self.longest
            else { return nil }
            self = seconds >= Self.shortest ? .seconds(seconds) : .minimum
        }
    }

    /// Parses a text that ``description`` of this version or of an earlier one has written. The earlier version wrote
    /// exponents.
    private init?(written text: String) {
        if let interval = Self(text) {
            self = interval
        } else if let seconds = Double(text), (0..<Self.shortest).contains(seconds) {
            self = .minimum
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .never: "never"
        case .minimum: "minimum"
        case .seconds:
            // The text must be one that `init(_:)` accepts, because one unreadable text would make a whole list
            // unreadable.
            if sleep < Self.shortest {
                "minimum"
            } else {
                sleep == sleep.rounded() ? "\(Int(saturating: sleep))" : "\(sleep)"
            }
        }
    }
}

extension RefreshInterval: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let interval = Self(written: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "An interval must be never, minimum, or seconds up to one year.")
        }
        self = interval
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
