/// `GET /v1/device`: what the device says, who says it, and what the service makes of it.
package struct DeviceStatus: Hashable, Sendable, Codable {
    package var conditions: DeviceConditions
    /// Where each value comes from.
    package var values: [DeviceValue]
    /// The parts of the system that are asked, whether they are there or not.
    package var providers: [DeviceProvider]
    /// What its user has in front, and who says so.
    package var front: FrontStatus
    package var doze: DozeStatus
    /// Apps that keep the device awake.
    package var holders: [AwakeHolder]
    package var settings: DeviceSettings
    /// Why the settings that were made cannot be read, so that the defaults hold; nil where they can.
    package var unreadable: String?

    package init(
        conditions: DeviceConditions, values: [DeviceValue], providers: [DeviceProvider],
        front: FrontStatus = FrontStatus(), doze: DozeStatus, holders: [AwakeHolder], settings: DeviceSettings
    ) {
        self.conditions = conditions
        self.values = values
        self.providers = providers
        self.front = front
        self.doze = doze
        self.holders = holders
        self.settings = settings
    }
}

/// One of the conditions with its source.
package struct DeviceValue: Hashable, Sendable, Codable {
    package var key: DeviceKey
    package var value: String
    package var source: Source

    package enum Source: String, Sendable, Codable, CaseIterable {
        /// Nobody tells; what stands for a machine that tells nothing.
        case assumed
        case upower = "UPower"
        case powerProfiles = "power-profiles-daemon"
        case networkManager = "NetworkManager"
        case logind
        case kernel
        /// `nightshift device set`.
        case override
        /// A trace that is played.
        case trace
    }

    package init(key: DeviceKey, value: String, source: Source) {
        self.key = key
        self.value = value
        self.source = source
    }
}

/// A part of the system that tells of the device.
package struct DeviceProvider: Hashable, Sendable, Codable {
    package var name: DeviceValue.Source
    package var isPresent: Bool
    /// Why it is not, or what is odd about it.
    package var detail: String?

    package init(name: DeviceValue.Source, isPresent: Bool, detail: String? = nil) {
        self.name = name
        self.isPresent = isPresent
        self.detail = detail
    }
}

/// What people set for the device; kept.
package struct DeviceSettings: Hashable, Sendable, Codable {
    /// For apps that have none of their own.
    package var backgroundPolicy: BackgroundPolicy = .opportunistic
    /// Seconds between the expiration handlers and the end of background time.
    package var expirationLead: Double = 5
    /// Values that stand in place of what the device says. Of a place answers have ``DeviceKey/hiddenPlace`` instead; see ``shown``.
    package var overrides: [DeviceKey: String] = [:]
    /// Whether apps come to the front and leave it with their windows, where the desktop tells.
    package var followsFront = true

    package static let leadAllowed: ClosedRange<Double> = 1...30

    /// The settings as answers have them, without the place that is set: whoever may ask is not therefore allowed to know it.
    package var shown: DeviceSettings {
        var shown = self
        if shown.overrides[.location] != nil { shown.overrides[.location] = DeviceKey.hiddenPlace }
        return shown
    }

    package init() {}

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        backgroundPolicy = try container.decode(BackgroundPolicy.self, forKey: .backgroundPolicy)
        expirationLead = try container.decode(Double.self, forKey: .expirationLead)
        overrides = try container.decode([DeviceKey: String].self, forKey: .overrides)
        // Earlier versions did not keep it.
        followsFront = try container.decodeIfPresent(Bool.self, forKey: .followsFront) ?? true
    }
}

/// `POST /v1/device/doze`: asks for a phase now.
package struct DozeRequest: Hashable, Sendable, Codable {
    /// `dozing`, `window` or `awake`.
    package var phase: DozePhase

    package init(phase: DozePhase) {
        self.phase = phase
    }
}
