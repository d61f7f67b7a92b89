/// How much background time an app has, and whether the device stays awake for it.
///
/// As text: `contiguous` (600 s), `opportunistic` (180 s), or either with a colon and a number of seconds.
package struct BackgroundPolicy: Hashable, Sendable, Codable, CustomStringConvertible {
    package var kind: Kind
    /// Seconds that all tasks of an app share in one stint in the background.
    package var seconds: Double

    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// The device is kept awake, and time passes without a break (iOS up to 6).
        case contiguous
        /// Time passes only while the device is awake anyway (iOS from 7 on).
        case opportunistic

        /// Seconds where nobody says otherwise: what iOS gave under either.
        package var defaultSeconds: Double {
            switch self {
            case .contiguous: 600
            case .opportunistic: 180
            }
        }
    }

    package static let contiguous = BackgroundPolicy(.contiguous)
    package static let opportunistic = BackgroundPolicy(.opportunistic)
    /// What iOS gives today.
    package static let brief = BackgroundPolicy(.opportunistic, seconds: 30)
    /// Less leaves no room for an expiration handler, more is no limit.
    package static let secondsAllowed: ClosedRange<Double> = 10...3_600

    package init(_ kind: Kind, seconds: Double? = nil) {
        self.kind = kind
        self.seconds = seconds ?? kind.defaultSeconds
    }

    /// Nil where `text` is not one.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let kind = Kind(rawValue: String(parts[0])) else { return nil }
        self.init(kind)
        guard parts.count == 2 else { return }
        guard let seconds = Double(parts[1]), Self.secondsAllowed.contains(seconds) else { return nil }
        self.seconds = seconds
    }

    package var description: String {
        guard seconds != kind.defaultSeconds else { return kind.rawValue }
        return seconds == seconds.rounded()
            ? "\(kind.rawValue):\(Int(saturating: seconds))" : "\(kind.rawValue):\(seconds)"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let policy = BackgroundPolicy(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription:
                    "'\(text)' is not a policy. Use contiguous or opportunistic, if needed with :SECONDS (10 to 3600).")
        }
        self = policy
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
