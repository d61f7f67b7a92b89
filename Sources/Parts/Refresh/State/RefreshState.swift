import Foundation
package import NightshiftAPI
package import Runtime
package import Scheduler
package import Store

/// The state of background refresh: requests, results, and the next steps.
///
/// This is a pure value. Its inputs are the use of apps, device states, requests and ends of wakes. ``decide(at:)``
/// makes the decisions. ``changes(since:)`` returns what a transaction has to write, and ``takeEffects()`` returns the
/// effects to execute after that transaction. See `docs/decisions/0037`.
package struct RefreshState: PartState {
    package internal(set) var planner: RefreshPlanner
    /// The user's switch of background refresh for all apps.
    package internal(set) var isOn = true
    /// Whether the device has ever reported that it is idle. A device that has never reported this does not count as
    /// always in use.
    package internal(set) var tellsUse = false
    package internal(set) var apps: [AppID: KnownApp] = [:]
    /// The manifests of installed apps.
    package internal(set) var manifests: [AppID: AppManifest] = [:]
    package internal(set) var tasks: [StoredScheduledTask.Key: StoredScheduledTask] = [:]
    package internal(set) var moment = DeviceState()
    /// The time of the next decision in seconds since 1970, unless an event causes one earlier.
    package internal(set) var nextDeadline: Double?
    var plan = RefreshPlan()
    var processing = ProcessingPlanner.Plan()
    /// The availability that was last sent to each app.
    var told: [AppID: RefreshAvailability] = [:]
    /// The running tasks that were requested to end, with the reason.
    var expiring: [ProcessingPlanner.Key: String] = [:]
    /// The time at which each task's progress was last written, in seconds since 1970.
    var progressWritten: [ProcessingPlanner.Key: Double] = [:]
    /// The progress that running tasks have reported. Reports are frequent, so that not every one is written.
    var progress: [StoredScheduledTask.Key: ScheduledTaskProgress] = [:]
    /// The row number of the last end of a wake that was handled.
    var endsThrough: Int64 = 0
    var touched = Touched<AppID>()
    var deviceTouched = 0
    package internal(set) var outbox = Outbox<RefreshOutput>()
    package internal(set) var journal = Outbox<JournalEntry>()
    var effects: [RefreshEffect] = []

    /// The seconds after which a wake that has not begun is dropped. A wake may not begin, for example, because its app
    /// came to the foreground.
    static let timeout = 900.0
    /// The seconds after which the learned use of an app without an entry is deleted. They are seconds of uptime over
    /// all boots, because the wall clock may be wrong.
    static let absence = 30 * LocalMoment.daySeconds

    package init(now: LocalMoment) { planner = RefreshPlanner(now: now) }

    /// Restores the stored state. ``begin(_:ends:wakes:seen:unreadable:now:)`` must follow.
    package init(_ kept: StoredRefresh<RefreshRecord, DeviceRefreshRecord>, now: LocalMoment) {
        planner = RefreshPlanner(
            apps: kept.apps.mapValues(\.planned),
            budget: kept.device?.budget ?? RefreshBudget(daily: RefreshBudget.usual, now: now.seconds),
            rhythm: kept.device?.rhythm ?? UsageModel(), now: now)
        isOn = kept.device?.isOn ?? true
        tellsUse = kept.device?.tellsUse ?? false
        apps = kept.apps.mapValues(\.known)
        tasks = Dictionary(kept.tasks.map { ($0.key, $0) }) { $1 }
    }

    /// Applies the start of the service, and decides which fetches and tasks of the previous run continue.
    ///
    /// - Parameters:
    ///   - ends: all known ends of wakes.
    ///   - wakes: the wakes whose rows still exist.
    ///   - seen: the seconds of uptime over all boots, up to now.
    ///   - unreadable: the names of rows that could not be read.
    package mutating func begin(
        _ installed: [AppManifest], ends: [RefreshEnd], wakes: [WantedWake], seen: Double, unreadable: [String] = [],
        now: LocalMoment
    ) {
        manifests = Dictionary(installed.map { ($0.id, $0) }) { $1 }
        for what in unreadable { note(.unreadable, nil, what, now) }
        take(ends, now: now)
        let before = planner
        let rows = Set(wakes.map { [$0.app.rawValue, $0.source.rawValue, $0.key] })
        func isThere(_ app: AppID, _ source: WakeSource, _ key: String) -> Bool {
            rows.contains([app.rawValue, source.rawValue, key])
        }
        let detail = "The service stopped before the app had finished."
        for id in order {
            guard let fetch = apps[id]?.underWay, !isThere(id, .fetch, fetch.identifier ?? "") else { continue }
            endFetch(id, nil, detail, ended: now.seconds, bytes: 0, now)
        }
        for (key, task) in tasks where key.isRunning && task.task.kind != .refresh {
            guard !isThere(key.app, task.task.kind.source, key.identifier) else { continue }
            endTask(key, nil, detail, now)
        }
        let goesOn = Set(order.filter { apps[$0]?.underWay != nil })
        // A refresh task runs only during a fetch.
        for (key, task) in tasks where key.isRunning && task.task.kind == .refresh {
            guard apps[key.app]?.underWay?.identifier != key.identifier else { continue }
            endTask(key, nil, detail, now)
        }
        planner.restarted(goesOn: goesOn, now: now)
        keepEntries()
        for id in order where manifests[id] == nil {
            let since = apps[id]?.goneSeen ?? seen
            if seen - since > Self.absence {
                remove(id, now)
            } else if apps[id]?.goneSeen == nil {
                apps[id]?.goneSeen = seen
                touch(id)
            }
        }
        for id in Set(tasks.keys.map(\.app)) { dropUnwanted(of: id, now) }
        for (id, app) in planner.apps where before.apps[id] != app { touch(id) }
        if planner.budget != before.budget || planner.rhythm != before.rhythm { touchDevice() }
        for id in manifests.keys { told[id] = availability(of: id) }
        tellDeviceUse(now)
    }

    /// The ids of all apps in a fixed order.
    var order: [AppID] { Set(apps.keys).union(planner.apps.keys).sorted { $0.rawValue < $1.rawValue } }

    var conditions: RefreshConditions {
        var conditions = RefreshConditions(device: moment.conditions)
        conditions.isOn = isOn
        conditions.isAwake = moment.phase != .dozing || !moment.conditions.isIdle
        return conditions
    }

    mutating func note(
        _ decision: Decision, _ app: AppID?, _ detail: String?, _ now: LocalMoment, inputs: [String: String]? = nil
    ) {
        journal.note(
            JournalEntry(
                time: Date(timeIntervalSince1970: now.seconds), decision: decision, app: app, detail: detail,
                inputs: inputs))
    }

    // MARK: - Use of apps and the device

    package mutating func apply(_ moment: DeviceState, now: LocalMoment) {
        self.moment = moment
        tellDeviceUse(now)
    }

    private mutating func tellDeviceUse(_ now: LocalMoment) {
        let isInUse = !moment.conditions.isIdle
        if !isInUse, !tellsUse {
            tellsUse = true
            touchDevice()
        }
        guard tellsUse, planner.rhythm.isInUse != isInUse else { return }
        planner.deviceUse(isInUse, now: now)
        touchDevice()
    }

    /// Handles an app that came to the foreground or left it.
    package mutating func use(_ app: AppID, isInFront: Bool, now: LocalMoment) {
        guard manifests[app] != nil else { return }
        know(app, now)
        guard let known = planner.apps[app], known.usage.isInUse != isInFront || (isInFront && known.isForceQuit) else {
            return
        }
        planner.appUse(app, isInFront: isInFront, now: now)
        if !tellsUse {
            planner.deviceUse(planner.apps.values.contains { $0.usage.isInUse }, now: now)
            touchDevice()
        }
        touch(app)
        note(isInFront ? .useBegan : .useEnded, app, nil, now)
    }

    package mutating func forceQuit(_ app: AppID, now: LocalMoment) {
        if planner.apps[app]?.usage.isInUse == true { use(app, isInFront: false, now: now) }
        guard manifests[app] != nil else { return }
        know(app, now)
        planner.forceQuit(app, now: now)
        touch(app)
        // The force quit also cancels continued tasks that still wait.
        for key in tasks.keys where key.app == app && !key.isRunning && tasks[key]?.task.kind == .continued {
            drop(key, "You have force-quit the app.", now)
        }
    }

    /// Handles the start of an app by the user.
    package mutating func launched(_ app: AppID) {
        guard planner.apps[app]?.isForceQuit == true else { return }
        planner.launched(app)
        touch(app)
    }

    // MARK: - Desktop entries

    package mutating func installed(_ app: AppID, _ manifest: AppManifest?, now: LocalMoment) {
        // If the entry was already gone, the rest of the app's state must still be removed.
        guard manifest == nil || manifests[app] != manifest else { return }
        manifests[app] = manifest
        if manifest == nil { remove(app, now) } else { dropUnwanted(of: app, now) }
        keepEntries()
    }

    /// Handles entries that were read again. A missing entry may return, so the learned use of its app is kept for a
    /// while.
    package mutating func read(_ manifests: [AppManifest], now: LocalMoment) {
        let read = Dictionary(manifests.map { ($0.id, $0) }) { $1 }
        guard read != self.manifests else { return }
        let changed = Set(read.keys).union(self.manifests.keys).filter { read[$0] != self.manifests[$0] }
        self.manifests = read
        keepEntries()
        for app in changed.sorted(by: { $0.rawValue < $1.rawValue }) { dropUnwanted(of: app, now) }
    }

    /// Cancels the deletion of the learned use of apps whose entry has returned.
    private mutating func keepEntries() {
        for id in manifests.keys where apps[id]?.goneSeen != nil {
            apps[id]?.goneSeen = nil
            touch(id)
        }
    }

    private mutating func remove(_ app: AppID, _ now: LocalMoment) {
        planner.remove(app)
        apps[app] = nil
        told[app] = nil
        for key in tasks.keys where key.app == app { tasks[key] = nil }
        expiring = expiring.filter { $0.key.app != app }
        progressWritten = progressWritten.filter { $0.key.app != app }
        progress = progress.filter { $0.key.app != app }
        touched.remove(app)
        outbox.removeAll { $0.wake?.app == app }
        outbox.append(.remove(app))
        outbox.append(.forgetUse(app))
    }

    /// Adds the app, so that its use is learned from now on.
    mutating func know(_ app: AppID, _ now: LocalMoment) {
        if planner.apps[app] == nil { planner.set(.never, for: app, now: now) }
        guard planner.apps[app] != nil, apps[app] == nil else { return }
        apps[app] = KnownApp()
        touch(app)
    }

    // MARK: - Deciding

    package var nextDecision: DecisionTime? { nextDeadline.map { .wallSeconds($0) } }

    package mutating func takeEffects() -> [RefreshEffect] {
        defer { effects = [] }
        return effects
    }

    /// Decides which fetches and tasks begin now, and which ones end.
    package mutating func decide(at now: LocalMoment) {
        updateIntervals(now)
        plan = planner.plan(conditions, now: now, looksAhead: !conditions.isAwake)
        for (index, app) in plan.wake.enumerated() {
            // Several apps share one wake of the device. Its energy is charged to the first of them.
            beginFetch(app, wakesDevice: index == 0 && !conditions.isAwake, now)
        }
        planProcessing(now)
        admitContinued(now)
        updateAvailability()
        let begins = tasks.values.filter { $0.began == nil && $0.task.kind == .refresh }
            .compactMap { $0.task.earliestBegin?.timeIntervalSince1970 }.filter { $0 > now.seconds }
        // If the device is not awake, the next decision waits until the device must wake for an app.
        let next = conditions.isAwake ? plan.lookAgain : plan.wakeDevice
        nextDeadline = ([next, processing.lookAgain].compactMap(\.self) + begins).min()
    }

    /// Updates the intervals that the planner uses.
    private mutating func updateIntervals(_ now: LocalMoment) {
        for id in Set(manifests.keys).union(order).sorted(by: { $0.rawValue < $1.rawValue }) {
            let interval = plannedInterval(of: id, now)
            guard interval != planner.apps[id]?.interval ?? .never else { continue }
            know(id, now)
            planner.set(interval, for: id, now: now)
            touch(id)
        }
    }

    private mutating func updateAvailability() {
        for id in manifests.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let availability = availability(of: id)
            if let before = told[id], before != availability { effects.append(.availability(id)) }
            told[id] = availability
        }
    }
}
