package import Foundation

/// The response of `GET /v1/refresh`: background refresh on this device, and all apps that use it.
package struct RefreshStatus: Hashable, Sendable, Codable {
    /// The user's setting for all apps.
    package var isOn: Bool
    package var budget: RefreshBudgetStatus
    /// The reason why no fetch is allowed now, as a sentence; nil if fetches are allowed.
    package var sentence: String?
    /// The time of the next decision, unless an event happens earlier.
    package var nextLook: Date?
    package var apps: [AppRefreshStatus]

    package init(isOn: Bool, budget: RefreshBudgetStatus, apps: [AppRefreshStatus]) {
        self.isOn = isOn
        self.budget = budget
        self.apps = apps
    }
}

/// The daily budget for fetches: a number of bytes, and a number of joules by a model of wakes, radio and running time.
/// The remaining amount is negative if fetches used more than expected.
package struct RefreshBudgetStatus: Hashable, Sendable, Codable {
    package var dailyEnergy: Double
    package var dailyBytes: Double
    package var energyLeft: Double
    package var bytesLeft: Double

    package init(dailyEnergy: Double, dailyBytes: Double, energyLeft: Double, bytesLeft: Double) {
        self.dailyEnergy = dailyEnergy
        self.dailyBytes = dailyBytes
        self.energyLeft = energyLeft
        self.bytesLeft = bytesLeft
    }
}

/// The response of `GET /v1/refresh/{app}`: the background fetches of one app, the expected time of the next fetch, and
/// the reasons for and against it.
package struct AppRefreshStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var availability: RefreshAvailability
    package var interval: RefreshInterval
    /// The source of the interval: the app itself, its desktop entry, or the user. The user's setting takes precedence.
    package var intervalSource: IntervalSource
    /// Whether an interval was set. If not, ``interval`` is `never`. The value is nil in responses of earlier versions.
    package var isIntervalSet: Bool?
    /// Whether an interval was set, derived for responses of earlier versions. In those responses, an unset interval
    /// looks like `never` set by the app.
    package var hasInterval: Bool { isIntervalSet ?? (interval != .never || intervalSource != .app) }
    /// The user's setting for this app.
    package var isOn: Bool
    /// The maximum number of daily fetches that the user allows.
    package var dailyCap: Int?
    /// The identifier of the reason why the planner does not allow a fetch now; nil if the planner allows a fetch.
    package var hold: String?
    /// The reason as a sentence for display.
    package var sentence: String
    /// The expected time of the next fetch, or of the end of ``hold``; nil if unknown.
    package var expected: Date?
    /// The start of the period in which the next fetch has about the same value.
    package var windowOpens: Date?
    /// The end of the period in which the next fetch has about the same value.
    package var windowCloses: Date?
    /// The reasons for and against a fetch now, as sentences.
    package var inFavour: [String]
    package var against: [String]
    /// The latest fetches, with the oldest first. There are at most ``Limits/fetches``.
    package var fetches: [FetchRecord]
    package var scheduled: [ScheduledTaskStatus]
    /// The learned number of times that the user opens the app in each half-hour of today, beginning at local midnight.
    /// The list is empty if nothing was learned.
    package var openings: [Double]
    /// The last time that the app was in use, if known.
    package var lastUse: Date?

    package enum IntervalSource: String, Hashable, Sendable, Codable, CaseIterable {
        case app
        case entry
        case user
    }

    package init(app: AppID, name: String, availability: RefreshAvailability, interval: RefreshInterval) {
        self.app = app
        self.name = name
        self.availability = availability
        self.interval = interval
        intervalSource = .app
        isOn = true
        sentence = ""
        inFavour = []
        against = []
        fetches = []
        scheduled = []
        openings = []
    }
}

/// A fetch that has started.
package struct FetchRecord: Hashable, Sendable, Codable {
    package var began: Date
    /// The time of the end; nil while the fetch is running.
    package var ended: Date?
    /// The result. It is nil while the fetch is running, or if its process ended while the service was not running.
    package var result: RefreshResult?
    /// The number of bytes that transfers of the app received and sent. Connections that the app makes itself are not
    /// included.
    package var bytes: Int64
    /// The identifier of the scheduled task; nil for a classic background fetch.
    package var identifier: String?
    /// The reason why the fetch ended without a result from the app, or a remark that the user requested the fetch.
    package var detail: String?

    package init(began: Date) {
        self.began = began
        bytes = 0
    }
}

/// The body of `PATCH /v1/refresh`: the user's settings for background refresh on this device.
package struct RefreshChange: Hashable, Sendable, Codable {
    package var isOn: Bool?
    /// The daily budget in joules and bytes.
    package var dailyEnergy: Double?
    package var dailyBytes: Double?

    package init(isOn: Bool? = nil, dailyEnergy: Double? = nil, dailyBytes: Double? = nil) {
        self.isOn = isOn
        self.dailyEnergy = dailyEnergy
        self.dailyBytes = dailyBytes
    }
}

/// The body of `PATCH /v1/refresh/{app}`: the user's settings for one app.
package struct AppRefreshChange: Hashable, Sendable, Codable {
    package var isOn: Bool?
    /// The interval that replaces the app's own; `default` removes the setting.
    package var interval: String?
    /// The maximum number of daily fetches; -1 removes the limit.
    package var dailyCap: Int?

    package init(isOn: Bool? = nil, interval: String? = nil, dailyCap: Int? = nil) {
        self.isOn = isOn
        self.interval = interval
        self.dailyCap = dailyCap
    }
}

/// The body of `POST /v1/refresh/{app}/expire`. For testing, the request calls the expiration handlers as if the time
/// were about to end.
package struct ExpirationRequest: Hashable, Sendable, Codable {
    /// The identifier of the scheduled task. Without an identifier, the request applies to all running wakes.
    package var identifier: String?

    package init(identifier: String? = nil) {
        self.identifier = identifier
    }
}

/// The body of `PUT /v1/process/refresh`: the minimum fetch interval that the app sets.
package struct RefreshRequest: Hashable, Sendable, Codable {
    package var interval: RefreshInterval

    package init(interval: RefreshInterval) {
        self.interval = interval
    }
}

/// A `refresh` event of `GET /v1/process/commands`. It says whether the app is refreshed in the background, and is sent
/// after `hello` and after every change.
package struct RefreshNotice: Hashable, Sendable, Codable {
    package var availability: RefreshAvailability

    package init(availability: RefreshAvailability) {
        self.availability = availability
    }
}
