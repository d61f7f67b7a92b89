/// The settings of a session that its transfers use by default. Every key has a default value.
package struct SessionSettings: Hashable, Sendable, Codable {
    package var headers: [HeaderField] = []
    /// The maximum number of transfers with one host at the same time.
    package var httpMaximumConnectionsPerHost: Int = 6
    /// The time in seconds without a received byte after which an exchange is aborted and retried (Apple:
    /// timeoutIntervalForRequest).
    package var idleTimeout: Double = 60
    /// The time in seconds from the start of a transfer until it fails, including time asleep (Apple:
    /// timeoutIntervalForResource).
    package var resourceTimeout: Double = 604_800
    package var retryPolicy: RetryPolicy = .never
    package var failsOnHTTPError: Bool = false
    package var proxy: String?
    package var tls: TLSSettings?
    /// Whether the transfers wait for good conditions (Apple: isDiscretionary).
    package var isDiscretionary: Bool = false
    /// Whether the transfers yield to other traffic on their routes (Apple: networkServiceType = .background); nil
    /// leaves the decision to the service.
    package var yields: Bool?
    package var allowsCellularAccess: Bool = true
    package var allowsExpensiveNetworkAccess: Bool = true
    package var allowsConstrainedNetworkAccess: Bool = true
    /// Whether the transfers run only on external power.
    package var requiresExternalPower: Bool = false
    /// The battery percentage below which the transfers do not run on battery; 0 means no limit.
    package var minimumBattery: Double = 0
    /// Whether the app is woken for events of the session. It has an effect only for sessions of apps.
    package var sessionSendsLaunchEvents: Bool = true

    package init() {}

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        headers = try container.decodeIfPresent([HeaderField].self, forKey: .headers) ?? []
        httpMaximumConnectionsPerHost =
            try container.decodeIfPresent(Int.self, forKey: .httpMaximumConnectionsPerHost) ?? 6
        idleTimeout = try container.decodeIfPresent(Double.self, forKey: .idleTimeout) ?? 60
        resourceTimeout = try container.decodeIfPresent(Double.self, forKey: .resourceTimeout) ?? 604_800
        retryPolicy = try container.decodeIfPresent(RetryPolicy.self, forKey: .retryPolicy) ?? .never
        failsOnHTTPError = try container.decodeIfPresent(Bool.self, forKey: .failsOnHTTPError) ?? false
        proxy = try container.decodeIfPresent(String.self, forKey: .proxy)
        tls = try container.decodeIfPresent(TLSSettings.self, forKey: .tls)
        func flag(_ key: CodingKeys, _ fallback: Bool) throws -> Bool {
            try container.decodeIfPresent(Bool.self, forKey: key) ?? fallback
        }
        isDiscretionary = try flag(.isDiscretionary, false)
        yields = try container.decodeIfPresent(Bool.self, forKey: .yields)
        allowsCellularAccess = try flag(.allowsCellularAccess, true)
        allowsExpensiveNetworkAccess = try flag(.allowsExpensiveNetworkAccess, true)
        allowsConstrainedNetworkAccess = try flag(.allowsConstrainedNetworkAccess, true)
        requiresExternalPower = try flag(.requiresExternalPower, false)
        minimumBattery = try container.decodeIfPresent(Double.self, forKey: .minimumBattery) ?? 0
        sessionSendsLaunchEvents = try container.decodeIfPresent(Bool.self, forKey: .sessionSendsLaunchEvents) ?? true
    }
}

/// The status of a session as shown by the API.
package struct SessionStatus: Hashable, Sendable, Codable {
    package var id: SessionID
    /// The app that owns the session.
    package var app: AppID?
    package var name: String?
    /// The settings of the session. Secrets in its header fields are replaced by ``Redaction/mask``.
    package var settings: SessionSettings
    /// The reason why the stored settings cannot be read, so that the defaults apply; nil if they can be read.
    package var unreadable: String?
    /// The number of transfers that have not ended.
    package var activeTasks: Int
    package var tasks: Int

    package init(id: SessionID, settings: SessionSettings, activeTasks: Int, tasks: Int) {
        self.id = id
        self.settings = settings
        self.activeTasks = activeTasks
        self.tasks = tasks
    }
}
