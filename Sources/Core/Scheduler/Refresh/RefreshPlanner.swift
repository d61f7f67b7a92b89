package import NightshiftAPI

/// Decides which apps fetch content in the background, and when.
///
/// This is a pure value: it takes use, results and settings. ``plan(_:now:)`` returns the apps to wake now, the time of
/// the next planning, and a reason for every other app. Times are seconds since 1970, because habits follow the wall
/// clock. Times in the future, after the clock was set back, count as now. See `docs/decisions/0036`.
package struct RefreshPlanner: Hashable, Sendable, Codable {
    package internal(set) var apps: [AppID: RefreshApp] = [:]
    package internal(set) var budget: RefreshBudget
    /// The use of the device itself, which shows the user's daily rhythm.
    package internal(set) var rhythm = UsageModel()
    package var tuning = RefreshTuning()
    /// The price of a fetch: the number of openings that a day's budget has to gain for a fetch to be worth it. The
    /// next property is the time when the price was calculated.
    var price = 0.0
    var pricedAt: Double?

    /// The maximum number of planned apps, which bounds the stored state.
    package static let largestCount = 500

    package init(daily: RefreshCost = RefreshBudget.usual, now: LocalMoment) {
        budget = RefreshBudget(daily: daily, now: now.seconds)
    }

    /// The app ids in a deterministic order.
    var order: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    // MARK: - Settings of apps and the user

    /// Sets the app's minimum interval between fetches. If the app is new, the planner adds it.
    ///
    /// - Returns: whether the planner had room for the app.
    @discardableResult
    package mutating func set(_ interval: RefreshInterval, for app: AppID, now: LocalMoment) -> Bool {
        guard apps[app] != nil || apps.count < Self.largestCount else { return false }
        apps[app, default: RefreshApp(known: now)].interval = interval
        apps[app]?.closes = nil
        pricedAt = nil
        return true
    }

    /// Sets the user's switch and daily limit for one app.
    package mutating func set(isOn: Bool, dailyCap: Int?, for app: AppID) {
        apps[app]?.isOn = isOn
        apps[app]?.dailyCap = dailyCap.map { max(0, $0) }
        pricedAt = nil
    }

    package mutating func set(daily: RefreshCost, now: LocalMoment) {
        budget.change(daily: daily, now: now.seconds)
        pricedAt = nil
    }

    package mutating func remove(_ app: AppID) {
        apps[app] = nil
        pricedAt = nil
    }

    /// Forgets the use and the fetch results of one app. Without an app, forgets the use and the results of all apps,
    /// and the use of the device.
    ///
    /// Settings of the user and the app stay, and pauses stay as well.
    package mutating func forget(_ app: AppID? = nil, now: LocalMoment) {
        for id in app.map({ [$0] }) ?? order {
            guard let old = apps[id] else { continue }
            apps[id] = old.forgotten(now)
        }
        if app == nil { rhythm = UsageModel() }
        pricedAt = nil
    }

    // MARK: - Events

    /// Records that the use of the device begins or ends.
    ///
    /// If the device does not report its use, the use of any app counts instead. If neither is reported, a usual day is
    /// assumed.
    package mutating func deviceUse(_ isInUse: Bool, now: LocalMoment) {
        if isInUse { rhythm.begin(now) } else { rhythm.end(now) }
    }

    /// Records that an app enters or leaves the foreground. Entering means that the user started the app, which ends
    /// the effect of a force quit.
    package mutating func appUse(_ app: AppID, isInFront: Bool, now: LocalMoment) {
        guard apps[app] != nil else { return }
        if isInFront {
            apps[app]?.usage.begin(now)
            apps[app]?.isForceQuit = false
        } else {
            apps[app]?.usage.end(now)
        }
        apps[app]?.closes = nil
    }

    package mutating func forceQuit(_ app: AppID, now: LocalMoment) {
        apps[app]?.usage.end(now)
        apps[app]?.isForceQuit = true
        apps[app]?.closes = nil
    }

    /// Records the end of an app's fetch: the app reported the end, its time limit passed, or it could not begin.
    ///
    /// The cost that was reserved at the start is corrected to the actual cost. If the actual cost is unknown, the
    /// reserved cost stays.
    ///
    /// - Parameter result: nil if the result was not observed. Such a fetch counts as neither success nor failure.
    package mutating func fetchEnded(_ app: AppID, _ result: RefreshResult?, took cost: RefreshCost, now: LocalMoment) {
        guard let known = apps[app], known.fetchBegan != nil else { return }
        budget.fill(to: now.seconds)
        if result != nil { budget.correct(from: known.cost, to: cost) }
        apps[app]?.end(result, cost, now)
    }

    /// Handles a restart of the service. After the restart, the planner knows neither the results of interrupted
    /// fetches nor which app is in the foreground.
    ///
    /// - Parameter goesOn: the apps whose fetches continue.
    package mutating func restarted(goesOn: Set<AppID> = [], now: LocalMoment) {
        rhythm.end(now)
        for id in order {
            apps[id]?.usage.end(now)
            if !goesOn.contains(id), let cost = apps[id]?.cost { fetchEnded(id, nil, took: cost, now: now) }
        }
    }

    // MARK: - Planning support

    mutating func advance(to now: LocalMoment) {
        budget.fill(to: now.seconds)
        rhythm.advance(to: now)
        for id in apps.keys { apps[id]?.advance(to: now) }
    }

    mutating func begin(_ app: AppID, now: LocalMoment) {
        guard let cost = apps[app]?.cost else { return }
        budget.spend(cost)
        apps[app]?.begin(now)
    }

    mutating func setWindow(closing closes: Double?, of app: AppID) { apps[app]?.closes = closes }
}

/// The options of the planner.
package struct RefreshTuning: Hashable, Sendable, Codable {
    /// Whether a fetch may begin near its best time, at a wake that it shares with other fetches.
    package var sharesWakes = true

    package init() {}

    /// Options with which every fetch begins at its own best time.
    package static let alone: RefreshTuning = {
        var tuning = RefreshTuning()
        tuning.sharesWakes = false
        return tuning
    }()
}
