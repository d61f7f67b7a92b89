package import NightshiftAPI

/// What the user lets the service use. Pure.
package struct ServiceLimits: Hashable, Sendable {
    /// Bytes per second, all transfers together; nil is unlimited.
    package var rateLimit: Int64?
    package var maximumTransfers = Self.defaultMaximumTransfers

    /// Transfers at once unless set otherwise: enough for several hosts, few enough for a phone.
    package static let defaultMaximumTransfers = 32

    package init() {}

    /// What was set, and for the rest what holds unless set otherwise.
    package init(_ settings: ServiceSettings) {
        rateLimit = settings.rateLimit
        maximumTransfers = settings.maximumTransfers ?? Self.defaultMaximumTransfers
    }

    package var settings: ServiceSettings {
        ServiceSettings(rateLimit: rateLimit, maximumTransfers: maximumTransfers)
    }

    /// - Parameter settings: what is nil stays; a rate limit of 0 is none.
    package func changed(by settings: ServiceSettings) -> ServiceLimits {
        var limits = self
        if let rate = settings.rateLimit { limits.rateLimit = rate == 0 ? nil : rate }
        limits.maximumTransfers = settings.maximumTransfers ?? maximumTransfers
        return limits
    }
}
