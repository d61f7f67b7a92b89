/// One line of a trace: at `at` seconds from its beginning one thing happens. `docs/simulation.md` describes the format.
package struct TraceLine: Hashable, Sendable {
    package var at: Double
    /// Conditions that change, by their text forms.
    package var device: [DeviceKey: String]?
    /// How fast the network is from now on, all transfers together.
    package var bytesPerSecond: Double?
    /// How the trace is played; in its first line alone.
    package var settings: TraceSettings?
    /// What is asked of doze.
    package var request: DozePhase?
    /// A host that fails from now on, or does not any more.
    package var host: TracedHost?
    /// The app that the line is about.
    package var app: AppID?
    package var behaviour: AppBehaviour?
    package var use: AppUse?
    package var task: TracedTask?
    package var transfer: TracedTransfer?
    /// A task that the app submits for later.
    package var submit: TracedSubmission?
    /// What its user wants of background refresh: of the app, or of all.
    package var refresh: TracedRefresh?
    /// A region that the app watches, or does no more.
    package var region: TracedRegion?
    /// What the app's user lets it learn of where the device is, and whether it hears of significant changes.
    package var location: TracedLocation?
    /// Whether the trace ends here.
    package var isEnd = false

    package init(at: Double, device: [DeviceKey: String]? = nil) {
        self.at = at
        self.device = device
    }
}

/// What a user does with an app.
package enum AppUse: String, Sendable, CaseIterable {
    /// Brings it to the front; starts it where it does not run.
    case front
    /// Leaves it.
    case background
    case quit
    case forceQuit
}

/// How a trace is played.
package struct TraceSettings: Hashable, Sendable {
    /// What the wall clock shows at its beginning, in seconds since 1970.
    package var start = TraceSettings.defaultStart
    /// The device's, for apps that ask for none.
    package var backgroundPolicy = DeviceSettings().backgroundPolicy
    package var expirationLead = DeviceSettings().expirationLead
    /// How many transfers run at once; nil for as many as the service runs.
    package var maximumTransfers: Int?

    /// 2026-01-05T00:00:00Z: a Monday, so that the days of a week's trace count from it.
    package static let defaultStart: Double = 1_767_571_200

    package init() {}
}

/// How an app behaves. All times are seconds that it runs.
package struct AppBehaviour: Hashable, Sendable {
    /// The policy that it asks for.
    package var backgroundPolicy: BackgroundPolicy?
    /// From its launch until it reads commands.
    package var launch = 0.5
    /// Seconds that its `didEnterBackground` takes.
    package var enterBackground = 0.1
    /// Seconds that it takes to handle the events of a session.
    package var wake = 1.0
    /// Seconds that its expiration handlers take.
    package var expiration = 0.5
    /// Whether its expiration handlers end its tasks, and what it was woken for.
    package var endsTasks = true
    /// How long it asks to be left alone after each background fetch; nil where it says nothing.
    package var fetchInterval: RefreshInterval?
    /// What its fetches and the tasks that it submitted come to.
    package var refreshResult = RefreshResult.newData
    /// Seconds that a fetch takes, or a task for one, and what it moves.
    package var fetch = 5.0
    package var fetchBytes: Int64 = 200_000
    /// Seconds that a processing task takes.
    package var processing = 60.0
    /// Seconds that handling a crossing or a change of place takes; it has 10.
    package var located = 1.0

    package init() {}
}

/// How a host treats the transfers that ask it, from a moment on.
package struct TracedHost: Hashable, Sendable {
    package var name: String
    /// Nil for one that is well.
    package var failing: Failing?

    package enum Failing: Hashable, Sendable {
        /// No connection is made.
        case unreachable
        /// It answers 503, and may say for how many seconds it wants to be left alone.
        case busy(retryAfter: Double?)
        /// It has none of the files.
        case missing
        /// The connections of those that run there break, this once.
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
    /// Seconds of work. Work goes on only while the app runs.
    package var seconds: Double

    package init(name: String, seconds: Double) {
        self.name = name
        self.seconds = seconds
    }
}

/// A transfer, or several of the same kind, that an app or a person asks for.
package struct TracedTransfer: Hashable, Sendable {
    /// The session, as the app calls it.
    package var session = "default"
    package var host = "example.org"
    /// Of each.
    package var bytes: Int64 = 0
    package var count = 1
    package var rules = TransferRules()
    package var priority = 0.5
    /// Seconds until it fails.
    package var resourceTimeout = SessionSettings().resourceTimeout
    /// Whether the app is woken when the last transfer of the session has ended.
    package var wakesApp = true

    package init() {}
}

/// A task that an app submits for later: a `BGTaskRequest`.
package struct TracedSubmission: Hashable, Sendable {
    package var identifier: String
    package var kind: ScheduledTask.Kind
    /// Seconds from the line on in which it does not begin.
    package var after: Double?
    package var requiresNetwork: Bool?
    package var requiresPower: Bool?

    package init(identifier: String, kind: ScheduledTask.Kind) {
        self.identifier = identifier
        self.kind = kind
    }
}

/// What its user changes of background refresh.
package struct TracedRefresh: Hashable, Sendable {
    package var isOn: Bool?
    /// Of an app; `default` takes the user's word back.
    package var interval: String?
    /// Of an app: fetches a day at most, -1 for no cap.
    package var dailyCap: Int?
    /// Of the device: joules and bytes of a day.
    package var dailyEnergy: Double?
    package var dailyBytes: Double?

    package init() {}

    /// Whether it says anything that is about one app alone, or about the device alone.
    package var isAboutApp: Bool { interval != nil || dailyCap != nil }
    package var isAboutDevice: Bool { dailyEnergy != nil || dailyBytes != nil }
}

/// A region that an app watches from a moment on, or does no more.
package struct TracedRegion: Hashable, Sendable {
    package var identifier: String
    /// Nil where it is not watched any more.
    package var region: MonitoredRegion?

    package init(identifier: String, region: MonitoredRegion?) {
        self.identifier = identifier
        self.region = region
    }
}

/// What changes of an app's location.
package struct TracedLocation: Hashable, Sendable {
    /// Its user's word.
    package var permission: LocationPermission?
    /// Whether the app wants to hear of significant changes.
    package var changes: Bool?

    package init() {}
}
