package import NightshiftAPI

/// The user's limits for the service. This is a pure value.
package struct ServiceLimits: Hashable, Sendable {
    /// The maximum rate of all transfers together in bytes per second; nil is unlimited.
    package var rateLimit: Int64?
    package var maximumTransfers = Self.defaultMaximumTransfers
    /// Which transfers yield to other traffic.
    package var yield = YieldMode.auto

    /// The default number of simultaneous transfers: enough for several hosts, and few enough for a phone.
    package static let defaultMaximumTransfers = 32

    package init() {}

    /// Creates the limits from the settings. Missing values get their defaults.
    package init(_ settings: ServiceSettings) {
        rateLimit = settings.rateLimit
        maximumTransfers = settings.maximumTransfers ?? Self.defaultMaximumTransfers
        yield = settings.yield ?? .auto
    }

    package var settings: ServiceSettings {
        ServiceSettings(rateLimit: rateLimit, maximumTransfers: maximumTransfers, yield: yield)
    }

    /// The limits for the journal, for example "Rate limit: 1.0 MiB/s. At most 32 transfers at once. Yield to other
    /// traffic: auto."
    package var sentence: String {
        let rate = rateLimit.map { QuantityText.rate(Double($0)) } ?? "none"
        return "Rate limit: \(rate). At most \(maximumTransfers) transfer\(maximumTransfers == 1 ? "" : "s") at once. "
            + "Yield to other traffic: \(yield.rawValue)."
    }

    /// Returns the limits after a change.
    ///
    /// - Parameter settings: nil values leave a limit unchanged; a rate limit of 0 removes the limit.
    package func changed(by settings: ServiceSettings) -> ServiceLimits {
        var limits = self
        if let rate = settings.rateLimit { limits.rateLimit = rate == 0 ? nil : rate }
        limits.maximumTransfers = settings.maximumTransfers ?? maximumTransfers
        limits.yield = settings.yield ?? yield
        return limits
    }
}
