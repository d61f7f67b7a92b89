package import NightshiftAPI

/// The state of one app with background fetches. It is kept across restarts.
package struct RefreshApp: Hashable, Sendable, Codable {
    package internal(set) var interval = RefreshInterval.never
    /// Whether the user has switched background refresh on for the app.
    package internal(set) var isOn = true
    /// The user's limit of fetches per local day; nil means no limit.
    package internal(set) var dailyCap: Int?
    /// Whether the user has force-quit the app and has not started it since then.
    package internal(set) var isForceQuit = false
    package internal(set) var usage = UsageModel()
    /// The time in seconds since 1970 at which the app became known.
    package internal(set) var known: Double
    /// The start of the current fetch in seconds since 1970.
    package internal(set) var fetchBegan: Double?
    /// The end of the last fetch in seconds since 1970.
    package internal(set) var fetchEnded: Double?
    package internal(set) var lastResult: RefreshResult?
    /// The time in seconds since 1970 at which the content was last updated.
    package internal(set) var refreshed: Double?
    /// The number of consecutive failures.
    package internal(set) var failures = 0
    /// The expected cost of a fetch of this app.
    package internal(set) var cost = RefreshCost.expected
    /// The number of fetches that began on the local day of the last fetch.
    var fetches = 0
    var fetchDay: Int?
    /// The weighted numbers of fetches with and without new data. Older results have less weight.
    private var fruitful = 0.0
    private var fruitless = 0.0
    /// The end in seconds since 1970 of the open or planned fetch window; nil if there is no window.
    var closes: Double?

    /// The maximum JSON size of an app's state in bytes.
    package static let largestEncoding = UsageModel.largestEncoding + 700

    /// The maximum duration of a fetch in seconds.
    package static let limit = 30.0
    private static let firstPause = 900.0
    private static let longestPause = 28_800.0
    /// The number of seconds without use after which an app gets almost no budget.
    static let longUnused = 14 * LocalMoment.daySeconds

    init(known now: LocalMoment) {
        known = now.seconds
        usage.start(now)
    }

    /// The probability that a fetch brings new data, estimated from earlier results.
    package var yield: Double { (fruitful + 1) / (fruitful + fruitless + 1) }

    /// The time in seconds since 1970 until which earlier failures prevent a fetch.
    var pausedUntil: Double? {
        guard failures > 0, let fetchEnded else { return nil }
        var pause = Self.firstPause
        for _ in 1..<max(2, min(failures, 16)) where failures > 1 { pause = min(Self.longestPause, pause * 2) }
        return fetchEnded + pause
    }

    /// Returns whether the app has been unused for so long that it gets almost no budget.
    func isUnused(_ now: Double) -> Bool { now - (usage.lastUse(now) ?? min(known, now)) > Self.longUnused }

    /// Returns the time in seconds since 1970 until which the content counts as fresh: an hour after the last fetch or
    /// use.
    func freshUntil(_ now: Double) -> Double {
        max(min(refreshed ?? -.infinity, now), now - (usage.idle(now) ?? .infinity)) + FreshnessCover.freshSeconds
    }

    /// Applies the passing of time. If the clock was set back, the time of the last fetch is set to now once. Otherwise
    /// that time would stay in the future until the clock has caught up.
    mutating func advance(to now: LocalMoment) {
        usage.advance(to: now)
        fetchEnded = fetchEnded.map { min($0, now.seconds) }
        refreshed = refreshed.map { min($0, now.seconds) }
    }

    /// Returns the app with its own settings and those of the user, but without learned data.
    func forgotten(_ now: LocalMoment) -> RefreshApp {
        var app = self
        app.usage = UsageModel()
        app.usage.start(now)
        if usage.isInUse { app.usage.begin(now) }
        app.known = now.seconds
        app.fruitful = 0
        app.fruitless = 0
        app.cost = fetchBegan == nil ? .expected : cost
        app.closes = nil
        return app
    }

    func fetches(onDay day: Int) -> Int { fetchDay == day ? fetches : 0 }

    mutating func begin(_ now: LocalMoment) {
        fetchBegan = now.seconds
        closes = nil
        fetches = fetches(onDay: now.day) + 1
        fetchDay = now.day
    }

    /// Records the end of a fetch.
    ///
    /// - Parameter result: nil if the result was not observed. In this case, the app's state learns nothing from the
    ///   fetch.
    mutating func end(_ result: RefreshResult?, _ spent: RefreshCost, _ now: LocalMoment) {
        fetchBegan = nil
        fetchEnded = now.seconds
        guard let result else { return }
        lastResult = result
        failures = result == .failed ? failures + 1 : 0
        cost = RefreshCost(
            energy: cost.energy * 0.75 + max(0, spent.energy) * 0.25,
            bytes: cost.bytes * 0.75 + max(0, spent.bytes) * 0.25)
        guard result != .failed else { return }
        refreshed = now.seconds
        fruitful = fruitful * 0.875 + (result == .newData ? 1 : 0)
        fruitless = fruitless * 0.875 + (result == .noData ? 1 : 0)
    }
}
