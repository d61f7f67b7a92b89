package import NightshiftAPI

/// What the service asks of the planner beside plans: what is kept of it, and what people are shown.
extension RefreshPlanner {
    /// The planner as it was kept, app by app.
    package init(apps: [AppID: RefreshApp], budget: RefreshBudget, rhythm: UsageModel, now: LocalMoment) {
        self.init(daily: budget.daily, now: now)
        self.apps = apps
        self.budget = budget
        self.rhythm = rhythm
    }

    /// A fetch begins now because its user wants one, whatever it would bring; what it is expected to take is set aside.
    ///
    /// - Returns: whether there is such an app, and no fetch of it under way.
    @discardableResult
    package mutating func beginNow(_ app: AppID, now: LocalMoment) -> Bool {
        guard let known = apps[app], known.fetchBegan == nil else { return false }
        advance(to: now)
        begin(app, now: now)
        return true
    }

    /// The app's user has started it, which ends what a force quit forbade.
    package mutating func launched(_ app: AppID) {
        apps[app]?.isForceQuit = false
    }

    /// Takes back that a fetch began: it could not be written down, and nobody was woken.
    package mutating func didNotBegin(_ app: AppID, now: LocalMoment) {
        guard let known = apps[app], known.fetchBegan != nil else { return }
        budget.fill(to: now.seconds)
        budget.correct(from: known.cost, to: RefreshCost(energy: 0, bytes: 0))
        apps[app]?.fetchBegan = nil
        apps[app]?.fetches = max(0, known.fetches - 1)
    }

    /// Expected openings of an app in each half-hour of the day of `now`, by what was learned; none where nothing was.
    package func openings(of app: AppID, now: LocalMoment) -> [Double] {
        guard var usage = apps[app]?.usage, usage.lastBegin != nil else { return [] }
        usage.advance(to: now)
        // Half a day of nothing: a rate needs some time that has passed.
        return usage.expectation(
            onDayOff: UsageModel.isDayOff(now.day), prior: [Double](repeating: 0, count: UsageModel.slotCount),
            weight: 0.5)
    }

    /// Expected openings of an app within the next hour.
    package func openingsSoon(of app: AppID, now: LocalMoment) -> Double {
        let slots = openings(of: app, now: now)
        guard !slots.isEmpty else { return 0 }
        let slot = now.secondOfDay / UsageModel.slotSeconds
        let rest = 1 - Double(now.secondOfDay % UsageModel.slotSeconds) / Double(UsageModel.slotSeconds)
        func expected(_ index: Int) -> Double { slots[index % slots.count] }
        return expected(slot) * rest + expected(slot + 1) + expected(slot + 2) * (1 - rest)
    }
}

extension RefreshApp {
    /// Seconds since 1970 until which it was in use, as far as is known.
    package func lastUse(_ now: LocalMoment) -> Double? { usage.lastUse(now.seconds) }

    /// Whether it was fetched for, or used, within the last hour.
    package func isFresh(_ now: LocalMoment) -> Bool { freshUntil(now.seconds) > now.seconds }
}

extension RefreshBudget {
    /// Whether the app's next fetch can be paid now.
    package func pays(for app: RefreshApp) -> Bool { shortage(of: app.cost) == nil }
}
