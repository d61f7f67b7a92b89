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

/// How secrets look where something has to stand in their place.
package enum Redaction {
    package static let mask = "***"
}
