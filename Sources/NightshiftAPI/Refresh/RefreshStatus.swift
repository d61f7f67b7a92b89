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

/// The daily budget for fetches: bytes, and joules by a model of wakes, radio and running time. The remaining amount is
/// negative if fetches used more than expected.
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

/// The response of `GET /v1/refresh/{app}`: the background fetches of one app, the expected time of the next one, and
/// the reasons for and against it.
package struct AppRefreshStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var availability: RefreshAvailability
    package var interval: RefreshInterval
    /// The source of the interval: the app itself, its desktop entry, or the user, who takes precedence.
    package var intervalSource: IntervalSource
    /// Whether an interval was set. If not, ``interval`` is `never`. Nil in responses of earlier versions.
    package var isIntervalSet: Bool?
    /// The value of ``isIntervalSet``. For responses of earlier versions it is derived; there, an unset interval looks
    /// like `never` set by the app.
    package var hasInterval: Bool { isIntervalSet ?? (interval != .never || intervalSource != .app) }
    /// The user's setting for this app.
    package var isOn: Bool
    /// The maximum number of daily fetches that the user allows.
    package var dailyCap: Int?
    /// The reason why the app is not fetched for now: an identifier of the planner, and its sentence.
    package var hold: String?
    package var sentence: String
    /// The expected time of the next fetch, or of the end of ``hold``; nil if unknown.
    package var expected: Date?
    /// The period in which the next fetch has about the same value.
    package var windowOpens: Date?
    package var windowCloses: Date?
    /// The reasons for and against a fetch now, as sentences.
    package var inFavour: [String]
    package var against: [String]
    /// The latest fetches, oldest first; at most ``Limits/fetches``.
    package var fetches: [FetchRecord]
    package var scheduled: [ScheduledTaskStatus]
    /// The learned number of times that the app is opened in each half-hour of today, beginning at local midnight.
    /// Empty if nothing was learned.
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

/// One fetch that has started.
package struct FetchRecord: Hashable, Sendable, Codable {
    package var began: Date
    /// The end; nil while the fetch is running.
    package var ended: Date?
    /// The result; nil while the fetch is running, and if its process ended while the service was not running.
    package var result: RefreshResult?
    /// The bytes that transfers of the app received and sent. Connections that the app makes itself are not included.
    package var bytes: Int64
    /// The identifier of the scheduled task; nil for a classic background fetch.
    package var identifier: String?
    /// The reason why it ended without a result from the app, or a remark that the user requested it.
    package var detail: String?

    package init(began: Date) {
        self.began = began
        bytes = 0
    }
}

/// The body of `PATCH /v1/refresh`: settings of the user for background refresh on this device.
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

/// The body of `PATCH /v1/refresh/{app}`: settings of the user for one app.
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

/// The body of `POST /v1/refresh/{app}/expire`, which calls expiration handlers as if the time were about to end, for
/// testing.
package struct ExpirationRequest: Hashable, Sendable, Codable {
    /// The identifier of the scheduled task. By default, all running wakes are meant.
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

/// A `refresh` event of `GET /v1/process/commands`: whether the app is refreshed in the background, sent at first and
/// after every change.
package struct RefreshNotice: Hashable, Sendable, Codable {
    package var availability: RefreshAvailability

    package init(availability: RefreshAvailability) {
        self.availability = availability
    }
}
