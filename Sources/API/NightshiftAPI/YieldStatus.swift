/// Which transfers yield to other traffic on their route, for all transfers together.
package enum YieldMode: String, Hashable, Sendable, Codable, CaseIterable {
    /// Discretionary transfers, those with a priority below 0.5, and those of apps in the background.
    case auto
    /// All transfers that nobody waits for in an app in the foreground.
    case on
    /// Only transfers that request it themselves.
    case off
}

/// How a transfer yields to other traffic.
package struct YieldStatus: Hashable, Sendable, Codable {
    /// The rate of all yielding transfers on the route in bytes per second.
    package var bytesPerSecond: Double
    /// The largest rate of the last minute in bytes per second.
    package var capacity: Double
    /// The round-trip time in seconds.
    package var roundTrip: Double
    /// The round-trip time that the transfers keep, in seconds.
    package var target: Double
    /// Whether the round-trip time is estimated from the rate, because the server sends no timestamps (RFC 7323). The
    /// transfers then notice other traffic later.
    package var isEstimate: Bool
    /// Whether other traffic keeps the transfers below the largest rate.
    package var isYielding: Bool

    package init(
        bytesPerSecond: Double, capacity: Double, roundTrip: Double, target: Double, isEstimate: Bool = false,
        isYielding: Bool
    ) {
        self.bytesPerSecond = bytesPerSecond
        self.capacity = capacity
        self.roundTrip = roundTrip
        self.target = target
        self.isEstimate = isEstimate
        self.isYielding = isYielding
    }

    /// The sentence, for example "It yields to other traffic: 1.4 MiB/s of 11.3 MiB/s, round trip 58 ms, target 40 ms."
    package var sentence: String {
        "It yields \(isYielding ? "to" : "if there is") other traffic: \(numbers)."
    }

    /// The rates and times, for example "1.4 MiB/s of 11.3 MiB/s, round trip 58 ms, target 40 ms".
    package var numbers: String {
        "\(QuantityText.rate(bytesPerSecond)) of \(QuantityText.rate(capacity)), "
            + "round trip \(isEstimate ? "about " : "")\(Self.milliseconds(roundTrip)), "
            + "target \(Self.milliseconds(target))"
    }

    private static func milliseconds(_ seconds: Double) -> String {
        "\(Int(saturating: (seconds * 1_000).rounded())) ms"
    }
}
