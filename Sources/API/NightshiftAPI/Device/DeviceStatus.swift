/// The response of `GET /v1/device`: the conditions of the device, their sources, and the decisions that follow from
/// the conditions.
package struct DeviceStatus: Hashable, Sendable, Codable {
    package var conditions: DeviceConditions
    /// The values with their sources.
    package var values: [DeviceValue]
    /// The system services that report conditions, whether they are available or not.
    package var providers: [DeviceProvider]
    /// The app in the foreground, and the source of this information.
    package var front: FrontStatus
    package var doze: DozeStatus
    /// The apps that keep the device awake.
    package var holders: [AwakeHolder]
    package var settings: DeviceSettings
    /// The reason why the stored settings cannot be read, so that the defaults apply; nil if they can be read.
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

/// One condition with its source.
package struct DeviceValue: Hashable, Sendable, Codable {
    package var key: DeviceKey
    package var value: String
    package var source: Source

    package enum Source: String, Sendable, Codable, CaseIterable {
        /// A default value, which applies because no source reports the value.
        case assumed
        case upower = "UPower"
        case powerProfiles = "power-profiles-daemon"
        case networkManager = "NetworkManager"
        case logind
        case kernel
        /// An override that was set with `nightshift device set`.
        case override
        /// A trace that is being played.
        case trace
    }

    package init(key: DeviceKey, value: String, source: Source) {
        self.key = key
        self.value = value
        self.source = source
    }
}

/// A system service that reports conditions of the device.
package struct DeviceProvider: Hashable, Sendable, Codable {
    package var name: DeviceValue.Source
    package var isPresent: Bool
    /// The reason why the service is not available, or a remark about it.
    package var detail: String?

    package init(name: DeviceValue.Source, isPresent: Bool, detail: String? = nil) {
        self.name = name
        self.isPresent = isPresent
        self.detail = detail
    }
}

/// The user's settings for the device. They are stored.
package struct DeviceSettings: Hashable, Sendable, Codable {
    /// The policy for apps without a policy of their own.
    package var backgroundPolicy: BackgroundPolicy = .opportunistic
    /// The number of seconds between the call to the expiration handlers and the end of background time.
    package var expirationLead: Double = 5
    /// The values that override those of the device. Responses contain ``DeviceKey/hiddenPlace`` instead of a location;
    /// see ``shown``.
    package var overrides: [DeviceKey: String] = [:]
    /// Whether apps enter and leave the foreground with their windows, if the desktop reports the windows.
    package var followsFront = true

    package static let leadAllowed: ClosedRange<Double> = 1...30

    /// The settings in the form that responses contain. The overridden location is removed, because a client that may
    /// read settings is not necessarily allowed to know the location.
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
        // Earlier versions did not store this value.
        followsFront = try container.decodeIfPresent(Bool.self, forKey: .followsFront) ?? true
    }
}

/// The body of `POST /v1/device/doze`, which requests a phase of doze now.
package struct DozeRequest: Hashable, Sendable, Codable {
    /// The requested phase: `dozing`, `window` or `awake`.
    package var phase: DozePhase

    package init(phase: DozePhase) {
        self.phase = phase
    }
}
