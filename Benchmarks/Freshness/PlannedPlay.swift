import NightshiftAPI
package import Scheduler

/// A run of the planner over a trace, as the service would drive it.
package struct PlannedPlay {
    private let trace: UseTrace
    private var planner: RefreshPlanner
    private var outcome: Outcome
    private var isUsed = false
    /// The running fetches, with the time of their end and their app.
    private var ending: [(at: Double, app: AppID)] = []
    /// The time of the next planning if the device is awake then, and the time for which the device is woken.
    private var lookAgain: Double?
    private var wakeDevice: Double?
    /// The time until which the device was last awake for a fetch or a planning.
    private var awakeUntil = -Double.infinity
    private var left: Int
    private let places: [AppID: Int]
    private let countsLooks: Bool

    private init(_ trace: UseTrace, _ count: Int, _ tuning: RefreshTuning, countsLooks: Bool) {
        self.trace = trace
        self.countsLooks = countsLooks
        let each = RefreshCost.expected
        let daily = Double(count * trace.apps.count)
        planner = RefreshPlanner(
            daily: RefreshCost(energy: each.energy * daily, bytes: each.bytes * daily),
            now: LocalMoment(seconds: trace.start))
        planner.tuning = tuning
        places = Dictionary(uniqueKeysWithValues: trace.apps.enumerated().map { ($1, $0) })
        outcome = Outcome(refreshes: Array(repeating: [], count: trace.apps.count))
        left = count * trace.apps.count * trace.counted.count
        for app in trace.apps { planner.set(.minimum, for: app, now: LocalMoment(seconds: trace.start)) }
    }

    /// - Parameters:
    ///   - perAppAndDay: the budget of fetches per app and day. Fetches beyond the budget in the counted days bring
    ///     nothing.
    ///   - countsLooks: whether a wake that only plans counts as a wake of the device.
    package static func play(
        _ trace: UseTrace, perAppAndDay count: Int, tuning: RefreshTuning = RefreshTuning(), countsLooks: Bool = true
    ) -> Outcome {
        var play = PlannedPlay(trace, count, tuning, countsLooks: countsLooks)
        for event in trace.events {
            play.pass(to: event.at)
            play.happen(event)
        }
        play.pass(to: play.trace.countedTime.upperBound)
        return play.outcome
    }

    private func moment(_ at: Double) -> LocalMoment { LocalMoment(seconds: trace.start + at) }

    /// Handles the events that fall due before `end`.
    private mutating func pass(to end: Double) {
        while true {
            let fetch = ending.first?.at ?? .infinity
            let isAwake = isUsed || (lookAgain ?? .infinity) <= awakeUntil
            let look = (isAwake ? lookAgain : wakeDevice) ?? .infinity
            guard min(fetch, look) < end else { return }
            if fetch <= look {
                // Fetches that end together cause one planning. The device is still awake from them.
                while let (at, app) = ending.first, at == fetch {
                    ending.removeFirst()
                    planner.fetchEnded(app, .newData, took: .expected, now: moment(at))
                }
                plan(fetch, isAwake: true)
            } else {
                plan(look, isAwake: isAwake)
            }
        }
    }

    private mutating func happen(_ event: UseTrace.Event) {
        let now = moment(event.at)
        switch event.kind {
        case .deviceUsed:
            isUsed = true
            planner.deviceUse(true, now: now)
        case .deviceLeft:
            isUsed = false
            planner.deviceUse(false, now: now)
        case .opened(let app): planner.appUse(trace.apps[app], isInFront: true, now: now)
        case .left(let app): planner.appUse(trace.apps[app], isInFront: false, now: now)
        case .otherWake: break
        }
        plan(event.at, isAwake: true)
    }

    private mutating func plan(_ at: Double, isAwake: Bool) {
        var conditions = RefreshConditions()
        conditions.isAwake = isAwake
        let plan = planner.plan(conditions, now: moment(at))
        lookAgain = plan.lookAgain.map { $0 - trace.start }
        wakeDevice = plan.wakeDevice.map { $0 - trace.start }
        if !isAwake, countsLooks || !plan.wake.isEmpty {
            if trace.counts(at) { outcome.deviceWakes += 1 }
            awakeUntil = at + 10
        }
        for app in plan.wake {
            let end = at + Rival.fetchSeconds
            ending.append((end, app))
            if trace.counts(end) {
                left -= 1
                guard left >= 0 else { continue }
            }
            if let place = places[app] { outcome.refreshes[place].append(end) }
        }
    }
}
