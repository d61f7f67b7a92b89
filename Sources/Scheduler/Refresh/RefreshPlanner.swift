package import NightshiftAPI

/// Decides whose content is fetched in the background, and when.
///
/// Pure: use, results and wishes go in; ``plan(_:now:)`` gives whom to wake now, when to look again, and of every other app why not. Times
/// are seconds since 1970, since habits follow the wall clock; those in the future, after a clock was set back, count as now. See
/// `docs/decisions/0036`.
package struct RefreshPlanner: Hashable, Sendable, Codable {
    package internal(set) var apps: [AppID: RefreshApp] = [:]
    package internal(set) var budget: RefreshBudget
    /// When the device itself is used: its user's day.
    package internal(set) var rhythm = UsageModel()
    package var tuning = RefreshTuning()
    /// What one budget of a day would have to bring in openings for a fetch to be worth it; and when that was found.
    var price = 0.0
    var pricedAt: Double?

    /// Apps beyond that are not planned for: what is kept is bounded.
    package static let largestCount = 500

    package init(daily: RefreshCost = RefreshBudget.usual, now: LocalMoment) {
        budget = RefreshBudget(daily: daily, now: now.seconds)
    }

    /// Ids in an order that is the same everywhere.
    var order: [AppID] { apps.keys.sorted { $0.rawValue < $1.rawValue } }

    // MARK: - What apps and their user wish

    /// The app says how long it wants to be left alone after each fetch. It becomes known by that.
    ///
    /// - Returns: whether there was room for it.
    @discardableResult
    package mutating func set(_ interval: RefreshInterval, for app: AppID, now: LocalMoment) -> Bool {
        guard apps[app] != nil || apps.count < Self.largestCount else { return false }
        apps[app, default: RefreshApp(known: now)].interval = interval
        apps[app]?.closes = nil
        pricedAt = nil
        return true
    }

    /// The user's switch and cap for one app.
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

    /// Forgets when an app was used and what its fetches brought; of all apps and of the device where none is named.
    ///
    /// What its user and the app itself have said stays, and so do pauses.
    package mutating func forget(_ app: AppID? = nil, now: LocalMoment) {
        for id in app.map({ [$0] }) ?? order {
            guard let old = apps[id] else { continue }
            apps[id] = old.forgotten(now)
        }
        if app == nil { rhythm = UsageModel() }
        pricedAt = nil
    }

    // MARK: - What happens

    /// The device comes into use, or is left.
    ///
    /// Where nobody tells that, the use of any app stands for it; without either, its user's day is taken for a usual one.
    package mutating func deviceUse(_ isInUse: Bool, now: LocalMoment) {
        if isInUse { rhythm.begin(now) } else { rhythm.end(now) }
    }

    /// An app comes to the front, or leaves it. Its user has started it, which ends what a force quit forbade.
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

    /// The fetch of an app ends: by its word, by its limit, or because it could not be begun.
    ///
    /// The reservation made at its start is corrected to its true cost, and kept when the cost is unknown.
    ///
    /// - Parameter result: nil where nobody saw what came of it, which is neither a success nor a failure.
    package mutating func fetchEnded(_ app: AppID, _ result: RefreshResult?, took cost: RefreshCost, now: LocalMoment) {
        guard let known = apps[app], known.fetchBegan != nil else { return }
        budget.fill(to: now.seconds)
        if result != nil { budget.correct(from: known.cost, to: cost) }
        apps[app]?.end(result, cost, now)
    }

    /// The service begins: nobody knows what came of fetches that the last one left, nor what is in front.
    ///
    /// - Parameter goesOn: whose fetches go on.
    package mutating func restarted(goesOn: Set<AppID> = [], now: LocalMoment) {
        rhythm.end(now)
        for id in order {
            apps[id]?.usage.end(now)
            if !goesOn.contains(id), let cost = apps[id]?.cost { fetchEnded(id, nil, took: cost, now: now) }
        }
    }

    // MARK: - For the plan

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

/// What may be chosen about the planner.
package struct RefreshTuning: Hashable, Sendable, Codable {
    /// Whether a fetch may begin around its best moment, at a wake that others have too.
    package var sharesWakes = true

    package init() {}

    /// Every fetch at its own best moment.
    package static let alone: RefreshTuning = {
        var tuning = RefreshTuning()
        tuning.sharesWakes = false
        return tuning
    }()
}
