import NightshiftAPI

extension RefreshPlanner {
    /// The number of seconds for which a price stays valid.
    private static let priceAge = 1_800.0
    /// The smallest probability of a noticed fetch at which the fetch is worth any price.
    private static let leastGain = 0.01
    /// The number of seconds after which to plan again for an app without a planned fetch, because the budget may allow
    /// a fetch by then.
    private static let longestLook = 14_400.0
    /// The maximum number of future plans that are simulated. If none of them wakes an app, the device is woken after
    /// the last one.
    private static let mostTrials = 24
    /// The share of the budget that is reserved for minimum fetches of every app.
    private static let floorShare = 0.1
    /// The factor by which the minimum interval is multiplied for an app that is no longer used.
    private static let unusedFloors = 7.0
    /// The number of seconds after the device comes into use during which its session counts as just begun.
    private static let sessionStart = 30.0
    /// The assumed number of openings per day of an unknown app. The next constant is the number of days for which this
    /// assumption counts.
    private static let priorOpenings = 1.0
    private static let priorDays = 2.0
    /// The number of days for which the assumption counts that an app is opened at times at which the device is used.
    private static let shapeDays = 4.0
    /// The minimum number of expected sessions within an hour at which the user is not considered asleep.
    private static let leastPresence = 0.15

    /// An app for which a fetch is allowed, and the best time of the fetch.
    private struct Candidate {
        var id: AppID
        var cover: FreshnessCover
        /// The cost of a fetch as a share of a day's budget.
        var share: Double
        var cost: RefreshCost
        /// The best time in seconds since 1970; nil if no time in the next day is suitable.
        var due: Double?
        /// The range of times in seconds since 1970 at which a fetch is almost as good.
        var window = 0.0...0.0
        var isFresh: Bool
        var isUnused: Bool
    }

    /// Plans fetches. Each app that the plan wakes counts as fetching, and its expected cost is reserved.
    ///
    /// - Parameter looksAhead: whether to calculate ``RefreshPlan/wakeDevice``, which takes one simulated plan for each
    ///   step ahead.
    package mutating func plan(
        _ conditions: RefreshConditions, now: LocalMoment, looksAhead: Bool = true
    ) -> RefreshPlan {
        var forecast: Forecast?
        var plan = decide(conditions, &forecast, now: now)
        // A device in use does not sleep before its use ends, which is an event.
        if looksAhead, !rhythm.isInUse { plan.wakeDevice = nextWake(conditions, from: plan.lookAgain, forecast, now) }
        return plan
    }

    /// Returns the time to wake the device if it sleeps from now on and no event happens. This is the time of the first
    /// plan that would wake an app.
    ///
    /// While time passes without use, the best times move later, so most plans would wake no app. This is predictable,
    /// so the plans are simulated on a copy of this planner. The windows that open meanwhile and the price are copied
    /// back, so that the real plan decides as the simulation did.
    private mutating func nextWake(
        _ conditions: RefreshConditions, from look: Double?, _ forecast: Forecast?, _ now: LocalMoment
    ) -> Double? {
        var (conditions, forecast) = (conditions, forecast)
        conditions.isAwake = false
        var (look, copy) = (look, self)
        for _ in 0..<Self.mostTrials {
            guard let time = look else { return nil }
            let before = copy
            let plan = copy.decide(conditions, &forecast, now: now.adding(time - now.seconds))
            guard plan.wake.isEmpty else {
                for (id, app) in before.apps { setWindow(closing: app.closes, of: id) }
                (price, pricedAt) = (before.price, before.pricedAt)
                return time
            }
            look = plan.lookAgain
        }
        return look
    }

    /// Plans the fetches for one time, without looking ahead.
    ///
    /// - Parameter known: the forecast of the previous plan. The forecast is valid for its day while no event happens.
    private mutating func decide(
        _ conditions: RefreshConditions, _ known: inout Forecast?, now: LocalMoment
    ) -> RefreshPlan {
        advance(to: now)
        var plan = RefreshPlan()
        let forecast = known.flatMap { $0.day == now.day ? $0 : nil } ?? Forecast(self, now)
        known = forecast
        let outlook = Outlook(rhythm, forecast.presence, now)
        var candidates: [Candidate] = []
        for id in order {
            guard let app = apps[id] else { continue }
            if let held = hold(app, conditions, now) {
                plan.holds[id] = held
                setWindow(closing: nil, of: id)
                if held.reason.endsWithTime { plan.look(at: held.until, after: now.seconds) }
            } else {
                candidates.append(candidate(id, app, forecast, outlook, now))
            }
        }
        updatePrice(candidates, now)
        let floor = floorInterval(candidates)
        for index in candidates.indices { setMoment(of: &candidates[index], floor, now) }
        if outlook.isAsleep {
            for candidate in candidates {
                let until = candidate.due.map { max($0, outlook.wakes) } ?? outlook.wakes
                plan.holds[candidate.id] = RefreshPlan.Held(reason: .userSleeps, until: until)
                setWindow(closing: nil, of: candidate.id)
            }
            if !candidates.isEmpty { plan.look(at: outlook.wakes, after: now.seconds) }
            return plan
        }
        choose(candidates, conditions, &plan, now)
        return plan
    }

    // MARK: - Holds

    /// Returns the reason that prevents a fetch of this app now. The benefit of the fetch is not considered.
    private func hold(_ app: RefreshApp, _ conditions: RefreshConditions, _ now: LocalMoment) -> RefreshPlan.Held? {
        func held(_ reason: RefreshHold, until: Double? = nil) -> RefreshPlan.Held {
            RefreshPlan.Held(reason: reason, until: until)
        }
        if app.interval == .never { return held(.never) }
        if !app.isOn { return held(.appSwitchedOff) }
        if app.isForceQuit { return held(.forceQuit) }
        if app.fetchBegan != nil { return held(.underWay) }
        if app.usage.isInUse { return held(.inFront) }
        if let reason = conditions.hold { return held(reason) }
        if let cap = app.dailyCap, app.fetches(onDay: now.day) >= cap {
            // If the limit of an app is 0, the next day does not allow a fetch either.
            return held(.cap, until: cap > 0 ? now.seconds + Double(86_400 - now.secondOfDay) : nil)
        }
        if let ended = app.fetchEnded, now.seconds < ended + app.interval.sleep {
            return held(.interval, until: ended + app.interval.sleep)
        }
        if let paused = app.pausedUntil, now.seconds < paused {
            return held(.failures, until: paused)
        }
        return nil
    }

    // MARK: - Benefit

    /// The expected number of uses in each step of a workday and of a day off.
    private struct Rates {
        static let stepsOfSlot = UsageModel.slotSeconds / FreshnessCover.wholeStepSeconds
        var days: [[Double]]

        init(slots: [[Double]]) {
            days = slots.map { day in
                (0..<FreshnessCover.steps).map { step in day[step / Self.stepsOfSlot] / Double(Self.stepsOfSlot) }
            }
        }

        /// Returns the cumulative expected uses up to each step from now, for a day and the hour after it.
        func summed(_ now: LocalMoment) -> [Double] {
            let count = FreshnessCover.steps + FreshnessCover.stepsOfFreshness + 1
            var sums = [0.0]
            sums.reserveCapacity(count + 1)
            var sum = 0.0
            var day = now.day
            // Steps from now and steps of the day are not aligned. A step uses the rate of the step of the day in which
            // it begins.
            var step = now.secondOfDay / FreshnessCover.wholeStepSeconds
            var rates = days[UsageModel.isDayOff(day) ? 1 : 0]
            for _ in 0..<count {
                sum += rates[step]
                sums.append(sum)
                step += 1
                if step == FreshnessCover.steps {
                    step = 0
                    day += 1
                    rates = days[UsageModel.isDayOff(day) ? 1 : 0]
                }
            }
            return sums
        }
    }

    /// The expected use on a day and on the following days, based on learned data.
    private struct Forecast {
        var day: Int
        /// The expected sessions of the device by half-hour, on workdays and on days off.
        var sessions: [[Double]]
        var presence: Rates
        var apps: [AppID: Rates] = [:]

        init(_ planner: RefreshPlanner, _ now: LocalMoment) {
            day = now.day
            // The default use is from 07:00 to 23:00, until data is available.
            let usual = (0..<UsageModel.slotCount).map { (14..<46).contains($0) ? 20.0 / 32 : 0 }
            sessions = [false, true].map { planner.rhythm.expectation(onDayOff: $0, prior: usual, weight: 0.25) }
            presence = Rates(slots: sessions)
            let shapes = sessions.map { day in
                let sum = day.reduce(0, +)
                return day.map { sum > 0 ? $0 / sum : 0 }
            }
            for (id, app) in planner.apps where app.interval != .never {
                let days = [false, true].map { isDayOff in
                    let shape = shapes[isDayOff ? 1 : 0]
                    let first = shape.map { $0 * RefreshPlanner.priorOpenings }
                    let rate = app.usage.expectation(
                        onDayOff: isDayOff, prior: first, weight: RefreshPlanner.priorDays
                    ).reduce(0, +)
                    // The model learns the frequency of openings sooner than their times. Until then, the times of
                    // device use are used.
                    return app.usage.expectation(
                        onDayOff: isDayOff, prior: shape.map { $0 * rate }, weight: RefreshPlanner.shapeDays)
                }
                apps[id] = Rates(slots: days)
            }
        }
    }

    /// The expected use of the device in the next day.
    private struct Outlook {
        /// Whether a use of the device is expected within an hour of each step.
        var isPresent: [Bool]
        var isAsleep: Bool
        /// The time in seconds since 1970 of the next expected use.
        var wakes: Double
        /// Whether a session of the device has just begun.
        var isBeginning: Bool

        init(_ rhythm: UsageModel, _ presence: Rates, _ now: LocalMoment) {
            let expected = presence.summed(now)
            isPresent = (0..<FreshnessCover.steps).map {
                expected[$0 + FreshnessCover.stepsOfFreshness] - expected[$0] >= RefreshPlanner.leastPresence
            }
            let idle = rhythm.idle(now.seconds) ?? .infinity
            isAsleep = !isPresent[0] && idle >= 1_800
            let step = isPresent.firstIndex(of: true) ?? FreshnessCover.steps
            wakes = now.seconds + Double(step) * FreshnessCover.stepSeconds
            let begun = rhythm.lastBegin.map { now.seconds - $0 } ?? .infinity
            isBeginning = rhythm.isInUse && (0..<RefreshPlanner.sessionStart).contains(begun)
        }
    }

    private func candidate(
        _ id: AppID, _ app: RefreshApp, _ forecast: Forecast, _ outlook: Outlook, _ now: LocalMoment
    ) -> Candidate {
        let rates = forecast.apps[id] ?? forecast.presence
        var openings = rates.summed(now)
        if outlook.isBeginning {
            // This is the share of the sessions at this time of day in which the app is opened.
            let (kind, slot) = (UsageModel.isDayOff(now.day) ? 1 : 0, now.secondOfDay / UsageModel.slotSeconds)
            let sessions = forecast.sessions[kind][slot]
            let opened = rates.days[kind][slot * Rates.stepsOfSlot] * Double(Rates.stepsOfSlot)
            let share = sessions > 0 ? min(0.9, opened / sessions) : 0
            for step in 1..<openings.count { openings[step] += share }
        }
        let fresh = app.freshUntil(now.seconds) - now.seconds
        let cover = FreshnessCover(
            openings: openings, freshSteps: fresh / FreshnessCover.stepSeconds, isAllowed: outlook.isPresent,
            worth: app.yield, sleep: app.interval.sleep)
        return Candidate(
            id: id, cover: cover, share: budget.share(of: app.cost), cost: app.cost, isFresh: fresh > 0,
            isUnused: app.isUnused(now.seconds))
    }

    // MARK: - The price

    /// Finds the lowest price at which the fetches that are planned for the next day fit the budget.
    private mutating func updatePrice(_ candidates: [Candidate], _ now: LocalMoment) {
        if let pricedAt, (0..<Self.priceAge).contains(now.seconds - pricedAt) { return }
        pricedAt = now.seconds
        let paying = candidates.filter { !$0.isUnused && $0.share < .infinity }
        let (ahead, smallest) = (budget.ahead, paying.map(\.share).filter { $0 > 0 }.min())
        func isAffordable(_ price: Double) -> Bool {
            var sum = 0.0
            for candidate in paying {
                let plan = candidate.cover.plan(price: max(Self.leastGain, price * candidate.share))
                sum += Double(plan.count) * candidate.share
            }
            return sum <= ahead
        }
        guard let smallest else {
            price = 0
            return
        }
        // A fetch gains at most one opening. Most prices are near the previous one.
        var (low, high) = (0.0, 1 / smallest)
        for guess in [price * 0.875, price * 1.125] where guess > low && guess < high {
            if isAffordable(guess) { high = guess } else { low = guess }
        }
        if low == 0, isAffordable(0) {
            price = 0
            return
        }
        for _ in 0..<12 where high - low > max(high / 64, 1 / smallest / 4_096) {
            let middle = (low + high) / 2
            if isAffordable(middle) { high = middle } else { low = middle }
        }
        price = high
    }

    /// Returns the longest interval in seconds between two fetches of an app, which the reserved share of the budget
    /// pays for.
    private func floorInterval(_ candidates: [Candidate]) -> Double {
        var sum = 0.0
        for candidate in candidates {
            sum += candidate.isUnused ? candidate.share / Self.unusedFloors : candidate.share
        }
        return max(1, sum / Self.floorShare) * LocalMoment.daySeconds
    }

    /// Finds the best time of the candidate's fetch, and stores it in the candidate.
    private func setMoment(of candidate: inout Candidate, _ floor: Double, _ now: LocalMoment) {
        guard let app = apps[candidate.id], candidate.share < .infinity else { return }
        let price = max(Self.leastGain, self.price * candidate.share)
        let paid = candidate.isUnused ? nil : candidate.cover.plan(price: price)
        let last = max(app.refreshed ?? app.known, app.fetchEnded ?? app.known)
        let interval = candidate.isUnused ? floor * Self.unusedFloors : floor
        let free = now.seconds - min(last, now.seconds) >= interval ? candidate.cover.best : nil
        guard let step = paid?.first.map({ min($0, free ?? $0) }) ?? free else { return }
        func time(_ step: Int) -> Double { now.seconds + Double(step) * FreshnessCover.stepSeconds }
        candidate.due = time(step)
        // A minimum fetch has no window, because it would move to the next day if it were delayed.
        candidate.window = time(step)...time(step)
        if tuning.sharesWakes, let paid, step == paid.first, let window = candidate.cover.window(of: paid) {
            candidate.window = time(window.lowerBound)...time(window.upperBound)
        }
    }

    // MARK: - Selection and shared wakes

    /// Returns the reason why no fetch is planned for an app in the next day.
    private func reason(_ candidate: Candidate) -> RefreshHold {
        if candidate.share == .infinity { return budget.shortage(of: candidate.cost) ?? .energyBudget }
        return candidate.isUnused ? .unused : candidate.isFresh ? .fresh : .othersGainMore
    }

    private mutating func choose(
        _ candidates: [Candidate], _ conditions: RefreshConditions, _ plan: inout RefreshPlan, _ now: LocalMoment
    ) {
        // The list holds the open windows with their closing times.
        var open: [(candidate: Candidate, closes: Double)] = []
        var firstClose = Double.infinity
        for candidate in candidates {
            guard let due = candidate.due else {
                plan.holds[candidate.id] = RefreshPlan.Held(reason: reason(candidate))
                setWindow(closing: nil, of: candidate.id)
                plan.look(at: now.seconds + Self.longestLook, after: now.seconds)
                continue
            }
            let (opens, lasts) = (candidate.window.lowerBound, candidate.window.upperBound)
            if opens <= now.seconds {
                let closes = min(apps[candidate.id]?.closes ?? lasts, lasts)
                setWindow(closing: closes, of: candidate.id)
                open.append((candidate, closes))
                // If the budget does not cover a fetch, that fetch causes no wake.
                if budget.shortage(of: candidate.cost) == nil { firstClose = min(firstClose, closes) }
            } else {
                setWindow(closing: lasts, of: candidate.id)
                let reason: RefreshHold = candidate.isFresh ? .fresh : .later
                plan.holds[candidate.id] = RefreshPlan.Held(
                    reason: reason, until: due, window: candidate.window)
                plan.look(at: lasts, after: now.seconds)
            }
        }
        let runs = conditions.isAwake || firstClose <= now.seconds
        // The fetch with the highest gain for its share of the budget goes first.
        open.sort { one, other in
            let (left, right) = (one.candidate.cover.gainNow, other.candidate.cover.gainNow)
            let (first, second) = (left * other.candidate.share, right * one.candidate.share)
            return first != second ? first > second : one.candidate.id.rawValue < other.candidate.id.rawValue
        }
        for (candidate, closes) in open {
            if let shortage = budget.shortage(of: candidate.cost) {
                let wait = budget.wait(for: candidate.cost).map { now.seconds + $0 }
                plan.holds[candidate.id] = RefreshPlan.Held(reason: shortage, until: wait)
                plan.look(at: wait, after: now.seconds)
            } else if runs {
                begin(candidate.id, now: now)
                plan.wake.append(candidate.id)
            } else {
                let until = min(firstClose, conditions.nextWake.map { max($0, now.seconds) } ?? .infinity)
                plan.holds[candidate.id] = RefreshPlan.Held(
                    reason: .sharedWake, until: until, window: now.seconds...max(now.seconds, closes))
                plan.look(at: closes, after: now.seconds)
            }
        }
    }
}

extension RefreshHold {
    /// Whether the reason ends after a time, without an event.
    fileprivate var endsWithTime: Bool { self == .cap || self == .interval || self == .failures }
}
