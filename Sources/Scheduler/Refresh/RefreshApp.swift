package import NightshiftAPI

/// What is known of one app whose content is fetched in the background. Kept across restarts.
package struct RefreshApp: Hashable, Sendable, Codable {
    package internal(set) var interval = RefreshInterval.never
    /// The user's switch.
    package internal(set) var isOn = true
    /// The most fetches on a local day that the user allows; nil for no cap.
    package internal(set) var dailyCap: Int?
    /// The user has ended it and not started it since.
    package internal(set) var isForceQuit = false
    package internal(set) var usage = UsageModel()
    /// Seconds since 1970 at which it became known.
    package internal(set) var known: Double
    /// Seconds since 1970 at which the fetch under way began.
    package internal(set) var fetchBegan: Double?
    /// Seconds since 1970 at which the last one ended.
    package internal(set) var fetchEnded: Double?
    package internal(set) var lastResult: RefreshResult?
    /// Seconds since 1970 at which the content was last brought up to date.
    package internal(set) var refreshed: Double?
    /// Failures in a row.
    package internal(set) var failures = 0
    /// What a fetch of this app is expected to take.
    package internal(set) var cost = RefreshCost.expected
    /// How many fetches began on the local day of the last one.
    var fetches = 0
    var fetchDay: Int?
    /// Results that brought something and that did not, older ones counting less.
    private var fruitful = 0.0
    private var fruitless = 0.0
    /// Seconds since 1970 at which the window closes that is open or planned; nil while none is.
    var closes: Double?

    /// Bytes of JSON that an app costs at most.
    package static let largestEncoding = UsageModel.largestEncoding + 700

    /// Seconds that a fetch may take.
    package static let limit = 30.0
    private static let firstPause = 900.0
    private static let longestPause = 28_800.0
    /// Seconds without use after which it gets almost nothing.
    static let longUnused = 14 * LocalMoment.daySeconds

    init(known now: LocalMoment) {
        known = now.seconds
        usage.start(now)
    }

    /// How likely a fetch is to bring something, by the results so far.
    package var yield: Double { (fruitful + 1) / (fruitful + fruitless + 1) }

    /// Seconds since 1970 before which its failures allow no fetch.
    var pausedUntil: Double? {
        guard failures > 0, let fetchEnded else { return nil }
        var pause = Self.firstPause
        for _ in 1..<max(2, min(failures, 16)) where failures > 1 { pause = min(Self.longestPause, pause * 2) }
        return fetchEnded + pause
    }

    /// Whether its content is of so long ago, or its use, that it gets almost nothing.
    func isUnused(_ now: Double) -> Bool { now - (usage.lastUse(now) ?? min(known, now)) > Self.longUnused }

    /// Seconds since 1970 until which it counts as fresh: an hour after the last fetch or use.
    func freshUntil(_ now: Double) -> Double {
        max(min(refreshed ?? -.infinity, now), now - (usage.idle(now) ?? .infinity)) + FreshnessCover.freshSeconds
    }

    /// Lets time pass. Behind a clock that was set back, the last fetch counts as of now, once: taken for now at every look, it would
    /// stay so until the clock has caught up.
    mutating func advance(to now: LocalMoment) {
        usage.advance(to: now)
        fetchEnded = fetchEnded.map { min($0, now.seconds) }
        refreshed = refreshed.map { min($0, now.seconds) }
    }

    /// The same app with what it and its user have said, and nothing that was learned.
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

    /// - Parameter result: nil where nobody saw what came of it: nothing is learned then.
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
