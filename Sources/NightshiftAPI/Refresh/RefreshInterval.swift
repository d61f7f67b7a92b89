/// How long an app wants to be left alone after each background fetch. As text: `never`, `minimum`, or seconds, such as `900`.
package enum RefreshInterval: Hashable, Sendable, LosslessStringConvertible {
    /// It wants none: what holds until an app says something.
    case never
    /// The service decides.
    case minimum
    /// No fetch begins within so many seconds of the one before; afterwards the service decides.
    case seconds(Double)

    /// What no app can mean: a year.
    package static let longest = 31_536_000.0

    /// Seconds. Anything shorter is over before a fetch is, so it means ``minimum``, and its text would need an exponent.
    private static let shortest = 0.001

    /// Seconds without a fetch after each.
    package var sleep: Double {
        guard case .seconds(let seconds) = self, seconds >= Self.shortest else { return 0 }
        return min(seconds, Self.longest)
    }

    package init?(_ description: String) {
        switch description {
        case "never": self = .never
        case "minimum": self = .minimum
        default:
            // Digits only: the type itself would also read 'inf', '0x1p3' and '+7'.
            guard description.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
                let seconds = Double(description), seconds.isFinite, seconds <= Self.longest
            else { return nil }
            self = seconds >= Self.shortest ? .seconds(seconds) : .minimum
        }
    }

    /// The interval of a text that ``description`` has given, in this version or an earlier one, which wrote exponents.
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
            // Only what `init(_:)` takes: one text that cannot be read would take a whole list with it.
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
