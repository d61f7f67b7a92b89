/// The body of `PATCH /v1/device`. Values that are not given stay unchanged, and an override of null is removed.
package struct DeviceChange: Hashable, Sendable, Codable {
    package var backgroundPolicy: BackgroundPolicy?
    package var expirationLead: Double?
    package var overrides: [DeviceKey: String?]?
    package var followsFront: Bool?

    package init(
        backgroundPolicy: BackgroundPolicy? = nil, expirationLead: Double? = nil,
        overrides: [DeviceKey: String?]? = nil, followsFront: Bool? = nil
    ) {
        self.backgroundPolicy = backgroundPolicy
        self.expirationLead = expirationLead
        self.overrides = overrides
        self.followsFront = followsFront
    }
}

extension DeviceChange {
    /// Checks the values.
    ///
    /// - Throws: A problem that names the invalid value and its position in the request.
    package func check() throws(Problem) {
        let allowed = DeviceSettings.leadAllowed
        if let expirationLead, !allowed.contains(expirationLead) {
            throw .invalid(
                "The expiration warning time must be \(allowed.lowerBound) to \(allowed.upperBound) seconds.",
                pointer: "/expirationLead")
        }
        for (key, value) in overrides ?? [:] {
            var probe = DeviceConditions()
            guard let value, !probe.set(key, to: value) else { continue }
            // The message never repeats a location, even an invalid one, because it may be a real location with a wrong
            // digit.
            let what = key == .location ? "The value" : "'\(value)'"
            throw .invalid(
                "\(what) is not valid for \(key.rawValue). Use \(key.grammar).",
                pointer: "/overrides/\(key.rawValue)")
        }
    }
}

extension DeviceSettings {
    /// Returns the settings after a change.
    ///
    /// - Parameter change: The new values. Values that are nil stay unchanged; an override of nil is removed.
    package func changed(by change: DeviceChange) -> DeviceSettings {
        var settings = self
        settings.backgroundPolicy = change.backgroundPolicy ?? backgroundPolicy
        settings.expirationLead = change.expirationLead ?? expirationLead
        settings.followsFront = change.followsFront ?? followsFront
        for (key, value) in change.overrides ?? [:] { settings.overrides[key] = value }
        return settings
    }
}
