/// One line of a trace: one event, which happens `at` seconds after the start. `docs/simulation.md` describes the
/// format.
package struct TraceLine: Hashable, Sendable {
    package var at: Double
    /// The conditions that change, in their text forms.
    package var device: [DeviceKey: String]?
    /// The new speed of the network for all transfers together.
    package var bytesPerSecond: Double?
    /// The settings of the simulation. They are allowed only in the first line.
    package var settings: TraceSettings?
    /// The requested phase of doze.
    package var request: DozePhase?
    /// A host that starts or stops failing.
    package var host: TracedHost?
    /// The app that the event concerns.
    package var app: AppID?
    package var behaviour: AppBehaviour?
    package var use: AppUse?
    package var task: TracedTask?
    package var transfer: TracedTransfer?
    /// A scheduled task that the app submits.
    package var submit: TracedSubmission?
    /// Settings of background refresh for the app, or for all apps.
    package var refresh: TracedRefresh?
    /// A region that the app starts or stops monitoring.
    package var region: TracedRegion?
    /// The location permission of the app, and whether it monitors significant changes.
    package var location: TracedLocation?
    /// Whether the trace ends here.
    package var isEnd = false

    package init(at: Double, device: [DeviceKey: String]? = nil) {
        self.at = at
        self.device = device
    }
}

/// An action of the user on an app.
package enum AppUse: String, Sendable, CaseIterable {
    /// Brings the app to the foreground, and starts it if it is not running.
    case front
    /// Moves the app to the background.
    case background
    case quit
    case forceQuit
}

/// The settings of a simulation.
package struct TraceSettings: Hashable, Sendable {
    /// The wall-clock time at the start, in seconds since 1970.
    package var start = TraceSettings.defaultStart
    /// The policy of the device, for apps that request none.
    package var backgroundPolicy = DeviceSettings().backgroundPolicy
    package var expirationLead = DeviceSettings().expirationLead
    /// The maximum number of transfers that run at the same time; nil for the default of the service.
    package var maximumTransfers: Int?

    /// The default start, 2026-01-05T00:00:00Z. It is a Monday, so a trace of one week runs from Monday to Sunday.
    package static let defaultStart: Double = 1_767_571_200

    package init() {}
}

/// The simulated behaviour of an app. All times are in seconds while the app runs.
package struct AppBehaviour: Hashable, Sendable {
    /// The policy that the app requests.
    package var backgroundPolicy: BackgroundPolicy?
    /// The number of seconds from the launch until the app reads commands.
    package var launch = 0.5
    /// The number of seconds that `didEnterBackground` takes.
    package var enterBackground = 0.1
    /// The number of seconds that the app needs to handle the events of a session.
    package var wake = 1.0
    /// The number of seconds that the expiration handlers take.
    package var expiration = 0.5
    /// Whether the expiration handlers end the background tasks and the work that the app was woken for.
    package var endsTasks = true
    /// The minimum interval that the app sets between background fetches; nil if it sets none.
    package var fetchInterval: RefreshInterval?
    /// The result of background fetches and scheduled tasks.
    package var refreshResult = RefreshResult.newData
    /// The number of seconds that a fetch or a refresh task takes.
    package var fetch = 5.0
    /// The number of bytes that a fetch or a refresh task transfers.
    package var fetchBytes: Int64 = 200_000
    /// The number of seconds that a processing task takes.
    package var processing = 60.0
    /// The number of seconds that the app needs to handle a region event or a significant change. The limit is 10.
    package var located = 1.0

    package init() {}
}

/// The behaviour of a host towards transfers from a certain time on.
package struct TracedHost: Hashable, Sendable {
    package var name: String
    /// The kind of failure; nil for a host that works.
    package var failing: Failing?

    package enum Failing: Hashable, Sendable {
        /// A host to which connections cannot be made.
        case unreachable
        /// A host that responds with 503, optionally with a `Retry-After` in seconds.
        case busy(retryAfter: Double?)
        /// A host that does not have the files.
        case missing
        /// A break of all connections of running transfers, which happens once.
        case lost
    }

    package init(name: String, failing: Failing?) {
        self.name = name
        self.failing = failing
    }
}

/// A background task that an app begins.
package struct TracedTask: Hashable, Sendable {
    package var name: String
    /// The number of seconds of work. Work continues only while the app runs.
    package var seconds: Double

    package init(name: String, seconds: Double) {
        self.name = name
        self.seconds = seconds
    }
}

/// One or several transfers with the same values, requested by an app or a person.
package struct TracedTransfer: Hashable, Sendable {
    /// The identifier that the app uses for the session.
    package var session = "default"
    package var host = "example.org"
    /// The size of each transfer.
    package var bytes: Int64 = 0
    package var count = 1
    package var rules = TransferRules()
    package var priority = 0.5
    /// The number of seconds after which the transfer fails.
    package var resourceTimeout = SessionSettings().resourceTimeout
    /// Whether the app is woken when the last transfer of the session has ended.
    package var wakesApp = true

    package init() {}
}

/// A scheduled task that an app submits: a `BGTaskRequest`.
package struct TracedSubmission: Hashable, Sendable {
    package var identifier: String
    package var kind: ScheduledTask.Kind
    /// The minimum delay in seconds, measured from the time of the line.
    package var after: Double?
    package var requiresNetwork: Bool?
    package var requiresPower: Bool?

    package init(identifier: String, kind: ScheduledTask.Kind) {
        self.identifier = identifier
        self.kind = kind
    }
}

/// Changes to the settings of background refresh.
package struct TracedRefresh: Hashable, Sendable {
    package var isOn: Bool?
    /// The interval of an app; `default` removes the setting.
    package var interval: String?
    /// The maximum number of daily fetches of an app; -1 for no limit.
    package var dailyCap: Int?
    /// The daily budget of the device in joules and bytes.
    package var dailyEnergy: Double?
    package var dailyBytes: Double?

    package init() {}

    /// Whether there is a setting that applies only to one app, or only to the device.
    package var isAboutApp: Bool { interval != nil || dailyCap != nil }
    package var isAboutDevice: Bool { dailyEnergy != nil || dailyBytes != nil }
}

/// A region that an app starts or stops monitoring.
package struct TracedRegion: Hashable, Sendable {
    package var identifier: String
    /// The region; nil if the app stops monitoring it.
    package var region: MonitoredRegion?

    package init(identifier: String, region: MonitoredRegion?) {
        self.identifier = identifier
        self.region = region
    }
}

/// Changes to the location settings of an app.
package struct TracedLocation: Hashable, Sendable {
    /// The permission that the user sets.
    package var permission: LocationPermission?
    /// Whether the app monitors significant changes.
    package var changes: Bool?

    package init() {}
}
