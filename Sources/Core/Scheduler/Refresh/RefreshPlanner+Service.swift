package import NightshiftAPI

/// The functions of the planner that do not plan: restoring its state, and values for display.
extension RefreshPlanner {
    /// Restores a planner from stored records of each app.
    package init(apps: [AppID: RefreshApp], budget: RefreshBudget, rhythm: UsageModel, now: LocalMoment) {
        self.init(daily: budget.daily, now: now)
        self.apps = apps
        self.budget = budget
        self.rhythm = rhythm
    }

    /// Begins a fetch now because the user requested it, whatever its benefit. The expected cost is reserved.
    ///
    /// - Returns: whether the app exists and has no current fetch.
    @discardableResult
    package mutating func beginNow(_ app: AppID, now: LocalMoment) -> Bool {
        guard let known = apps[app], known.fetchBegan == nil else { return false }
        advance(to: now)
        begin(app, now: now)
        return true
    }

    /// Records that the user started the app. This ends the effect of a force quit.
    package mutating func launched(_ app: AppID) {
        apps[app]?.isForceQuit = false
    }

    /// Returns the expected number of openings of an app in each half-hour of the day of `now`, based on learned data.
    /// The numbers are zero without data.
    package func openings(of app: AppID, now: LocalMoment) -> [Double] {
        guard var usage = apps[app]?.usage, usage.lastBegin != nil else { return [] }
        usage.advance(to: now)
        // The prior is half a day without openings, because a rate needs some elapsed time.
        return usage.expectation(
            onDayOff: UsageModel.isDayOff(now.day), prior: [Double](repeating: 0, count: UsageModel.slotCount),
            weight: 0.5)
    }

    /// Returns the expected number of openings of an app within the next hour.
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
    /// Returns the last known time of use in seconds since 1970.
    package func lastUse(_ now: LocalMoment) -> Double? { usage.lastUse(now.seconds) }

    /// Returns whether the app was fetched for or used within the last hour.
    package func isFresh(_ now: LocalMoment) -> Bool { freshUntil(now.seconds) > now.seconds }
}

extension RefreshBudget {
    /// Returns whether the budget covers the app's next fetch now.
    package func pays(for app: RefreshApp) -> Bool { shortage(of: app.cost) == nil }
}
