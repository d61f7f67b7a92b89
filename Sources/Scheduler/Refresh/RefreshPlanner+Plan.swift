import NightshiftAPI

extension RefreshPlanner {
    /// Seconds for which a price holds.
    private static let priceAge = 1_800.0
    /// A fetch that is less likely to be noticed is not worth it at any price.
    private static let leastGain = 0.01
    /// Seconds after which the budget may have come to something else for whoever has no moment planned.
    private static let longestLook = 14_400.0
    /// Looks that are tried ahead; then the device is woken for one that may wake nobody.
    private static let mostTrials = 24
    /// Of the budget, for floors.
    private static let floorShare = 0.1
    /// Of its floor, what an app that is not used any more has.
    private static let unusedFloors = 7.0
    /// Seconds after the device came into use within which its session is about to begin.
    private static let sessionStart = 30.0
    /// Openings a day of an app that nothing is known of, and for how many days that counts.
    private static let priorOpenings = 1.0
    private static let priorDays = 2.0
    /// Sessions that have to be expected within an hour for its user not to be asleep.
    private static let leastPresence = 0.15

    /// An app that may be fetched for, and when that is best.
    private struct Candidate {
        var id: AppID
        var cover: FreshnessCover
        /// Of a day's budget.
        var share: Double
        var cost: RefreshCost
        /// Seconds since 1970 of the best moment, and up to when it is almost as good; nil where the next day has none.
        var due: Double?
        var closes = 0.0
        var isFresh: Bool
        var isUnused: Bool
    }

    /// Decides. Whoever is to be woken counts as fetching, and what that is expected to take is set aside.
    package mutating func plan(_ conditions: RefreshConditions, now: LocalMoment) -> RefreshPlan {
        var plan = decide(conditions, now: now)
        // A device in use does not sleep before it is left, which is told.
        if !rhythm.isInUse { plan.wakeDevice = nextWake(conditions, from: plan.lookAgain, now) }
        return plan
    }

    /// When to wake the device, if it sleeps from now on and nothing happens: the first look that would wake somebody.
    ///
    /// What is planned moves while time passes without use, so most looks would find that a later moment has come to look better. All
    /// of that is known now: the looks are played on a copy of this planner. Windows that open meanwhile, and the price, are taken over from it,
    /// so that the look for which the device is woken decides as the copy did.
    private mutating func nextWake(_ conditions: RefreshConditions, from look: Double?, _ now: LocalMoment) -> Double? {
        var conditions = conditions
        conditions.isAwake = false
        var (look, copy) = (look, self)
        for _ in 0..<Self.mostTrials {
            guard let time = look else { return nil }
            let before = copy
            let plan = copy.decide(conditions, now: now.adding(time - now.seconds))
            guard plan.wake.isEmpty else {
                for (id, app) in before.apps { setWindow(closing: app.closes, of: id) }
                (price, pricedAt) = (before.price, before.pricedAt)
                return time
            }
            look = plan.lookAgain
        }
        return look
    }

    private mutating func decide(_ conditions: RefreshConditions, now: LocalMoment) -> RefreshPlan {
        advance(to: now)
        var plan = RefreshPlan()
        let outlook = Outlook(rhythm, now)
        var candidates: [Candidate] = []
        for id in order {
            guard let app = apps[id] else { continue }
            if let held = hold(app, conditions, now) {
                plan.holds[id] = held
                setWindow(closing: nil, of: id)
                if held.reason.endsWithTime { plan.look(at: held.until, after: now.seconds) }
            } else {
                candidates.append(candidate(id, app, outlook, now))
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

    // MARK: - Forbidden

    /// What forbids a fetch of this app now, whatever it would bring.
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
            return held(.cap, until: now.seconds + Double(86_400 - now.secondOfDay))
        }
        let ended = app.fetchEnded.map { min($0, now.seconds) }
        if let ended, now.seconds < ended + app.interval.sleep {
            return held(.interval, until: ended + app.interval.sleep)
        }
        if let paused = app.pausedUntil.map({ min($0, now.seconds + RefreshApp.longestPause) }), now.seconds < paused {
            return held(.failures, until: paused)
        }
        return nil
    }

    // MARK: - What it is worth

    /// When the device is likely to be used in the next day.
    private struct Outlook {
        /// Sessions of the device by half-hour, on workdays and on days off.
        var sessions: [[Double]]
        /// The same of an app that nothing is known of.
        var prior: [[Double]]
        /// Whether somebody is expected within an hour of each step.
        var isPresent: [Bool]
        var isAsleep: Bool
        /// Seconds since 1970 at which somebody is expected again.
        var wakes: Double
        /// Whether a session of the device has just begun.
        var isBeginning: Bool

        init(_ rhythm: UsageModel, _ now: LocalMoment) {
            // 07:00 to 23:00, as long as nobody knows better.
            let usual = (0..<UsageModel.slotCount).map { (14..<46).contains($0) ? 20.0 / 32 : 0 }
            sessions = [false, true].map { rhythm.expectation(onDayOff: $0, prior: usual, weight: 0.25) }
            prior = sessions.map { day in
                let sum = day.reduce(0, +)
                return day.map { sum > 0 ? $0 / sum * RefreshPlanner.priorOpenings : 0 }
            }
            let expected = RefreshPlanner.summed(sessions, now)
            isPresent = (0..<FreshnessCover.steps).map {
                expected[$0 + FreshnessCover.stepsOfFreshness] - expected[$0] >= RefreshPlanner.leastPresence
            }
            let idle = rhythm.lastUse(now.seconds).map { now.seconds - $0 } ?? .infinity
            isAsleep = !isPresent[0] && idle >= 1_800
            let step = isPresent.firstIndex(of: true) ?? FreshnessCover.steps
            wakes = now.seconds + Double(step) * FreshnessCover.stepSeconds
            let begun = rhythm.lastBegin.map { now.seconds - $0 } ?? .infinity
            isBeginning = rhythm.isInUse && (0..<RefreshPlanner.sessionStart).contains(begun)
        }
    }

    /// What is expected up to each step from now, summed, for a day and the hour after it.
    private static func summed(_ days: [[Double]], _ now: LocalMoment) -> [Double] {
        let count = FreshnessCover.steps + FreshnessCover.stepsOfFreshness + 1
        var sums = [0.0]
        sums.reserveCapacity(count + 1)
        let stepsOfSlot = Double(UsageModel.slotSeconds) / FreshnessCover.stepSeconds
        var sum = 0.0
        var (day, second) = (now.day, now.secondOfDay)
        for _ in 0..<count {
            let profile = days[UsageModel.isDayOff(day) ? 1 : 0]
            sum += profile[second / UsageModel.slotSeconds] / stepsOfSlot
            sums.append(sum)
            second += FreshnessCover.wholeStepSeconds
            if second >= 86_400 {
                second -= 86_400
                day += 1
            }
        }
        return sums
    }

    private func candidate(_ id: AppID, _ app: RefreshApp, _ outlook: Outlook, _ now: LocalMoment) -> Candidate {
        let days = [false, true].map {
            app.usage.expectation(onDayOff: $0, prior: outlook.prior[$0 ? 1 : 0], weight: Self.priorDays)
        }
        var openings = Self.summed(days, now)
        if outlook.isBeginning {
            // Of the sessions of this time of day, those in which it is opened.
            let (kind, slot) = (UsageModel.isDayOff(now.day) ? 1 : 0, now.secondOfDay / UsageModel.slotSeconds)
            let sessions = outlook.sessions[kind][slot]
            let share = sessions > 0 ? min(0.9, days[kind][slot] / sessions) : 0
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

    /// Finds the lowest price at which all that is planned for the next day fits what the budget will have.
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
        guard let smallest, !isAffordable(0) else {
            price = 0
            return
        }
        // Nothing gains more than one opening.
        var (low, high) = (0.0, 1 / smallest)
        for _ in 0..<12 {
            let middle = (low + high) / 2
            if isAffordable(middle) { high = middle } else { low = middle }
        }
        price = high
    }

    /// Seconds between two fetches that each app has at least.
    private func floorInterval(_ candidates: [Candidate]) -> Double {
        var sum = 0.0
        for candidate in candidates {
            sum += candidate.isUnused ? candidate.share / Self.unusedFloors : candidate.share
        }
        return max(1, sum / Self.floorShare) * LocalMoment.daySeconds
    }

    /// Finds when a fetch is best.
    private func setMoment(of candidate: inout Candidate, _ floor: Double, _ now: LocalMoment) {
        guard let app = apps[candidate.id], candidate.share < .infinity else { return }
        let price = max(Self.leastGain, self.price * candidate.share)
        let paid = candidate.isUnused ? nil : candidate.cover.plan(price: price).first
        let last = max(app.refreshed ?? app.known, app.fetchEnded ?? app.known)
        let interval = candidate.isUnused ? floor * Self.unusedFloors : floor
        let free = now.seconds - min(last, now.seconds) >= interval ? candidate.cover.best : nil
        guard let step = [paid, free].compactMap(\.self).min() else { return }
        let due = now.seconds + Double(step) * FreshnessCover.stepSeconds
        let limit = Int(saturating: tuning.late / FreshnessCover.stepSeconds)
        candidate.due = due
        guard step == paid else {
            // Its floor: a moment that is put off is another one the next day.
            candidate.closes = due
            return
        }
        candidate.closes = due + Double(candidate.cover.patience(at: step, limit: limit)) * FreshnessCover.stepSeconds
    }

    // MARK: - Whom, and together with whom

    /// Why no moment of the next day is planned for an app.
    private func reason(_ candidate: Candidate) -> RefreshHold {
        if candidate.share == .infinity { return budget.shortage(of: candidate.cost) ?? .energyBudget }
        return candidate.isUnused ? .unused : candidate.isFresh ? .fresh : .othersGainMore
    }

    private mutating func choose(
        _ candidates: [Candidate], _ conditions: RefreshConditions, _ plan: inout RefreshPlan, _ now: LocalMoment
    ) {
        // Windows that are open, each with the time at which it closes.
        var open: [(candidate: Candidate, closes: Double)] = []
        var firstClose = Double.infinity
        for candidate in candidates {
            guard let due = candidate.due else {
                plan.holds[candidate.id] = RefreshPlan.Held(reason: reason(candidate))
                setWindow(closing: nil, of: candidate.id)
                plan.look(at: now.seconds + Self.longestLook, after: now.seconds)
                continue
            }
            if due - tuning.early <= now.seconds {
                let closes = min(apps[candidate.id]?.closes ?? candidate.closes, candidate.closes)
                setWindow(closing: closes, of: candidate.id)
                open.append((candidate, closes))
                // Nobody is woken for what cannot be paid.
                if budget.shortage(of: candidate.cost) == nil { firstClose = min(firstClose, closes) }
            } else {
                setWindow(closing: nil, of: candidate.id)
                let reason: RefreshHold = candidate.isFresh ? .fresh : .later
                plan.holds[candidate.id] = RefreshPlan.Held(
                    reason: reason, until: due, window: (due - tuning.early)...candidate.closes)
                plan.look(at: candidate.closes, after: now.seconds)
            }
        }
        let runs = conditions.isAwake || firstClose <= now.seconds
        // What gains most for its part of the budget goes first.
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
    /// Whether time alone ends it.
    fileprivate var endsWithTime: Bool { self == .cap || self == .interval || self == .failures }
}
