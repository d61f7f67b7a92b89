/// What a session gives its tasks where they say nothing themselves. Every key has a default.
package struct SessionSettings: Hashable, Sendable, Codable {
    package var headers: [HeaderField] = []
    /// Transfers with one host at a time.
    package var httpMaximumConnectionsPerHost: Int = 6
    /// Seconds without a byte until an exchange is broken off and retried (Apple: timeoutIntervalForRequest).
    package var idleTimeout: Double = 60
    /// Seconds from a task's start until it fails, asleep or not (Apple: timeoutIntervalForResource).
    package var resourceTimeout: Double = 604_800
    package var retryPolicy: RetryPolicy = .never
    package var failsOnHTTPError: Bool = false
    package var proxy: String?
    package var tls: TLSSettings?
    /// Whether its tasks wait for a good moment (Apple: isDiscretionary).
    package var isDiscretionary: Bool = false
    package var allowsCellularAccess: Bool = true
    package var allowsExpensiveNetworkAccess: Bool = true
    package var allowsConstrainedNetworkAccess: Bool = true
    /// Whether its tasks run on external power only.
    package var requiresExternalPower: Bool = false
    /// Percent below which its tasks do not run on battery; 0 is no limit.
    package var minimumBattery: Double = 0
    /// Whether the app is woken for its events; for sessions of apps only.
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
        allowsCellularAccess = try flag(.allowsCellularAccess, true)
        allowsExpensiveNetworkAccess = try flag(.allowsExpensiveNetworkAccess, true)
        allowsConstrainedNetworkAccess = try flag(.allowsConstrainedNetworkAccess, true)
        requiresExternalPower = try flag(.requiresExternalPower, false)
        minimumBattery = try container.decodeIfPresent(Double.self, forKey: .minimumBattery) ?? 0
        sessionSendsLaunchEvents = try container.decodeIfPresent(Bool.self, forKey: .sessionSendsLaunchEvents) ?? true
    }
}

/// A session as the API shows it.
package struct SessionStatus: Hashable, Sendable, Codable {
    package var id: SessionID
    /// The app it belongs to, and what that calls it.
    package var app: AppID?
    package var name: String?
    /// Secrets in its headers are replaced by ``Redaction/mask``.
    package var settings: SessionSettings
    /// Why the settings that were made cannot be read, so that the defaults hold; nil where they can.
    package var unreadable: String?
    /// Tasks that have not ended.
    package var activeTasks: Int
    package var tasks: Int

    package init(id: SessionID, settings: SessionSettings, activeTasks: Int, tasks: Int) {
        self.id = id
        self.settings = settings
        self.activeTasks = activeTasks
        self.tasks = tasks
    }
}
