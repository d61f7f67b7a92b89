import NightshiftAPI
import Scheduler

/// A device with a refresh planner. Times are hours from Monday, 2026-01-05 00:00.
struct RefreshScene {
    var planner: RefreshPlanner
    var conditions = RefreshConditions()
    /// The fetches, each with its app and the hour of its start.
    private(set) var fetches: [(app: AppID, hour: Double)] = []
    private(set) var plan = RefreshPlan()
    private(set) var hour = 0.0
    /// The number of plans. `emptyLooks` counts the plans that woke no app.
    private(set) var looks = 0
    private(set) var emptyLooks = 0
    var result = RefreshResult.newData
    var cost = RefreshCost.expected

    static let start = TraceSettings.defaultStart

    init(fetchesADay: Double = 100) {
        let each = RefreshCost.expected
        planner = RefreshPlanner(
            daily: RefreshCost(energy: each.energy * fetchesADay, bytes: each.bytes * fetchesADay),
            now: Self.moment(0))
    }

    static func moment(_ hour: Double) -> LocalMoment { LocalMoment(seconds: start + hour * 3_600) }

    var now: LocalMoment { Self.moment(hour) }

    /// Adds apps that leave the times of their fetches to the planner.
    mutating func add(_ apps: AppID..., interval: RefreshInterval = .minimum) {
        for app in apps { planner.set(interval, for: app, now: now) }
    }

    /// The time of the next plan. It depends on whether the device is awake.
    private var next: Double? { conditions.isAwake ? plan.lookAgain : plan.wakeDevice }

    /// Plans as often as the planner requests until `end`. Each fetch takes ten seconds.
    mutating func pass(to end: Double) {
        look()
        while let next = next.map({ ($0 - Self.start) / 3_600 }), next < end {
            hour = max(hour, next)
            look()
        }
        hour = max(hour, end)
    }

    mutating func setBack(to hour: Double) {
        self.hour = hour
    }

    /// Makes one plan, and starts its fetches.
    mutating func look() {
        plan = planner.plan(conditions, now: now)
        let woken = plan.wake
        looks += 1
        if woken.isEmpty { emptyLooks += 1 }
        guard !woken.isEmpty else { return }
        fetches += woken.map { ($0, hour) }
        hour += 10 / 3_600
        for app in woken { planner.fetchEnded(app, result, took: cost, now: now) }
        plan = planner.plan(conditions, now: now)
    }

    /// Records the use of an app, and of the device, for a minute.
    mutating func use(_ app: AppID, at time: Double) {
        pass(to: time)
        planner.deviceUse(true, now: now)
        planner.appUse(app, isInFront: true, now: now)
        hour += 1 / 60
        planner.appUse(app, isInFront: false, now: now)
        planner.deviceUse(false, now: now)
    }

    /// Returns the hours of the day at which `app` was fetched for, from an hour of the trace on.
    func hours(_ app: AppID, from: Double = 0) -> [Double] {
        fetches.filter { $0.app == app && $0.hour >= from }.map { $0.hour.truncatingRemainder(dividingBy: 24) }
    }
}

extension AppID {
    static let feed = AppID(rawValue: "org.example.Feed")
    static let mail = AppID(rawValue: "org.example.Mail")
    static let game = AppID(rawValue: "org.example.Game")
}
