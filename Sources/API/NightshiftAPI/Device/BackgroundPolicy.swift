/// The amount of background time of an app, and whether the device is kept awake for it.
///
/// The text form is `contiguous` (600 s) or `opportunistic` (180 s), optionally followed by a colon and a number of
/// seconds.
package struct BackgroundPolicy: Hashable, Sendable, Codable, CustomStringConvertible {
    package var kind: Kind
    /// The number of seconds that all background tasks of an app share in one background run.
    package var seconds: Double

    package enum Kind: String, Sendable, Codable, CaseIterable {
        /// The policy that keeps the device awake, so that time passes without interruption (iOS up to 6).
        case contiguous
        /// The policy under which time passes only while the device is awake for other reasons (iOS 7 and later).
        case opportunistic

        /// The default number of seconds: the value that iOS used with either policy.
        package var defaultSeconds: Double {
            switch self {
            case .contiguous: 600
            case .opportunistic: 180
            }
        }
    }

    package static let contiguous = BackgroundPolicy(.contiguous)
    package static let opportunistic = BackgroundPolicy(.opportunistic)
    /// The policy of current iOS versions.
    package static let brief = BackgroundPolicy(.opportunistic, seconds: 30)
    /// The allowed number of seconds. A shorter time is not enough for an expiration handler, and a longer time is
    /// hardly a limit.
    package static let secondsAllowed: ClosedRange<Double> = 10...3_600

    package init(_ kind: Kind, seconds: Double? = nil) {
        self.kind = kind
        self.seconds = seconds ?? kind.defaultSeconds
    }

    /// Parses the text form. Returns nil if `text` is not a policy.
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
