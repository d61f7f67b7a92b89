package import Foundation

/// `GET /v1/refresh`: background refresh of the device, and of every app that takes part in it.
package struct RefreshStatus: Hashable, Sendable, Codable {
    /// The user's switch for all apps.
    package var isOn: Bool
    package var budget: RefreshBudgetStatus
    /// What forbids every fetch now, in a sentence; nil where nothing does.
    package var sentence: String?
    /// When the service decides anew, unless something happens before.
    package var nextLook: Date?
    package var apps: [AppRefreshStatus]

    package init(isOn: Bool, budget: RefreshBudgetStatus, apps: [AppRefreshStatus]) {
        self.isOn = isOn
        self.budget = budget
        self.apps = apps
    }
}

/// The daily budget for fetches: joules by a model of wakes, radio and running time, and bytes. The rest is below zero where
/// fetches took more than was expected of them.
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

/// `GET /v1/refresh/{app}`: one app's background fetches: what has come of them, the next one, and what speaks for and against it.
package struct AppRefreshStatus: Hashable, Sendable, Codable {
    package var app: AppID
    package var name: String
    package var availability: RefreshAvailability
    package var interval: RefreshInterval
    /// Who has said the interval: the app itself, its entry, or its user, who goes first.
    package var intervalSource: IntervalSource
    /// Whether the interval was set by anybody; ``interval`` is `never` where it was not. Nil in answers of earlier versions.
    package var isIntervalSet: Bool?
    /// ``isIntervalSet``; derived in answers of earlier versions, in which an unset interval looks like the app's own `never`.
    package var hasInterval: Bool { isIntervalSet ?? (interval != .never || intervalSource != .app) }
    /// The user's switch for this app.
    package var isOn: Bool
    /// The most fetches on a day that its user allows.
    package var dailyCap: Int?
    /// Why it is not fetched for now: a word of the planner, and its sentence.
    package var hold: String?
    package var sentence: String
    /// When it is expected to be fetched for, or ``hold`` to end; nil where nobody knows.
    package var expected: Date?
    /// From when to when the next fetch is worth about the same.
    package var windowOpens: Date?
    package var windowCloses: Date?
    /// What speaks for a fetch and against it now, in sentences.
    package var inFavour: [String]
    package var against: [String]
    /// The last ones, oldest first; at most ``Limits/fetches``.
    package var fetches: [FetchRecord]
    package var scheduled: [ScheduledTaskStatus]
    /// Expected openings of the app in each half-hour of today, from local midnight on: what was learned. Empty where nothing was.
    package var openings: [Double]
    /// When it was last in use, as far as is known.
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

/// One fetch that has begun.
package struct FetchRecord: Hashable, Sendable, Codable {
    package var began: Date
    /// Nil while it goes on.
    package var ended: Date?
    /// Nil while it is under way, and when its result is unknown: its process ended while the service was away.
    package var result: RefreshResult?
    /// What its transfers have received and sent; its own connections are not seen.
    package var bytes: Int64
    /// The task's identifier; nil for a background fetch of the classic form.
    package var identifier: String?
    /// Why it ended without a word of the app, or whether its user asked for it.
    package var detail: String?

    package init(began: Date) {
        self.began = began
        bytes = 0
    }
}

/// `PATCH /v1/refresh`: what the user wants of background refresh on this device.
package struct RefreshChange: Hashable, Sendable, Codable {
    package var isOn: Bool?
    /// Joules and bytes of a day.
    package var dailyEnergy: Double?
    package var dailyBytes: Double?

    package init(isOn: Bool? = nil, dailyEnergy: Double? = nil, dailyBytes: Double? = nil) {
        self.isOn = isOn
        self.dailyEnergy = dailyEnergy
        self.dailyBytes = dailyBytes
    }
}

/// `PATCH /v1/refresh/{app}`: what the user wants for one app.
package struct AppRefreshChange: Hashable, Sendable, Codable {
    package var isOn: Bool?
    /// In place of the app's own; `default` takes the user's word back.
    package var interval: String?
    /// Fetches of a day at most; -1 takes the cap away.
    package var dailyCap: Int?

    package init(isOn: Bool? = nil, interval: String? = nil, dailyCap: Int? = nil) {
        self.isOn = isOn
        self.interval = interval
        self.dailyCap = dailyCap
    }
}

/// `POST /v1/refresh/{app}/expire`: fires expiration handlers as if time were nearly over, for a test.
package struct ExpirationRequest: Hashable, Sendable, Codable {
    /// The task that is meant; every wake under way unless given.
    package var identifier: String?

    package init(identifier: String? = nil) {
        self.identifier = identifier
    }
}

/// `PUT /v1/process/refresh`: the app itself says how long it wants to be left alone after each fetch.
package struct RefreshWish: Hashable, Sendable, Codable {
    package var interval: RefreshInterval

    package init(interval: RefreshInterval) {
        self.interval = interval
    }
}

/// An event `refresh` of `GET /v1/process/commands`: whether the app is refreshed in the background, now and whenever that changes.
package struct RefreshNotice: Hashable, Sendable, Codable {
    package var availability: RefreshAvailability

    package init(availability: RefreshAvailability) {
        self.availability = availability
    }
}
