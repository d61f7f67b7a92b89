import Apps
import Clock
import Device
import Foundation
import Logging
import NightshiftAPI
import Scheduler
import Store
import Synchronization
import Transfers

/// Tells transfers and apps what moment it is: follows the device, decides over doze, and holds the device awake for those
/// who may. See `docs/decisions/0012`.
actor Conductor {
    private let monitor: DeviceMonitor
    private let store: Store
    private let clock: any ServiceClock
    private let logger: Logger
    private let parts = Mutex<Parts?>(nil)
    private var settings = DeviceSettings()
    private var doze: DozeMachine
    /// What the last decision saw of the device.
    private var report: DeviceReport
    private var conditions: DeviceConditions { report.conditions }
    private var activity = Activity()
    private var heldFor: [AwakeHolder] = []
    private var alarm = Alarm()
    /// How many decisions with journal entries there were.
    private var decisions = 0
    /// What is on disk of all this, and may be told.
    private var told: Told
    private var isStopping = false
    private let events: AsyncStream<Event>
    nonisolated private let continuation: AsyncStream<Event>.Continuation

    private struct Parts {
        var transfers: TransferService
        var apps: AppService
    }

    private struct Activity {
        var apps = AppActivity()
        var transfers = TransferActivity()
    }

    private struct Told {
        /// The last decision that it includes.
        var decision: Int
        var report: DeviceReport
        var doze: DozeMachine
        var holders: [AwakeHolder]
    }

    private enum Event: Sendable {
        case deviceChanged
        case apps(AppActivity)
        case transfers(TransferActivity)
        case alarm(Double)
    }

    init(monitor: DeviceMonitor, store: Store, clock: any ServiceClock, logger: Logger) {
        self.monitor = monitor
        self.store = store
        self.clock = clock
        self.logger = logger
        let doze = DozeMachine(state: DozeMachine.State(since: clock.now().wallSeconds))
        let report = monitor.report
        self.doze = doze
        self.report = report
        told = Told(decision: 0, report: report, doze: doze, holders: [])
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Whom to tell. Once, before anything runs.
    nonisolated func connect(_ transfers: TransferService, _ apps: AppService) {
        parts.withLock { $0 = Parts(transfers: transfers, apps: apps) }
    }

    nonisolated func heard(_ activity: AppActivity) { continuation.yield(.apps(activity)) }

    nonisolated func heard(_ activity: TransferActivity) { continuation.yield(.transfers(activity)) }

    /// Takes up what was set and where doze was, and tells the first moment. Before apps and transfers begin anything.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
    func prepare() async throws(StoreError) {
        let now = clock.now()
        let (settings, state) = try await store.read { transaction in
            (try transaction.deviceSettings(), try transaction.doze(KeptDoze.self))
        }
        self.settings = settings ?? DeviceSettings()
        if let state { doze = DozeMachine(state: state.state(now: now)) }
        monitor.setOverrides(self.settings.overrides)
        monitor.start()
        // What is assumed until everybody has answered could end a doze, or let something go that has to wait.
        if !monitor.report.isSettled {
            for await _ in monitor.changes where monitor.report.isSettled { break }
        }
        report = monitor.report
        await parts.withLock(\.self)?.apps.apply(self.settings)
        let start = JournalEntry(
            time: now.date, decision: .deviceChanged, detail: "The service begins with this.",
            inputs: conditions.inputs(Self.journalled))
        await decide(doze.changed(to: conditions, now: now), [start], always: true)
    }

    /// Follows the device until ``stop()``.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in self.monitor.changes { self.continuation.yield(.deviceChanged) }
            }
            for await event in events { await take(event) }
            group.cancelAll()
        }
    }

    func stop() {
        isStopping = true
        alarm.cancel()
        monitor.shutdown()
        continuation.finish()
    }

    // MARK: - What the API offers

    func status() -> DeviceStatus {
        let latest = monitor.report
        // What the journal says nothing of is told as it is.
        let isDecided = !latest.conditions.differences(from: told.report.conditions).contains {
            Self.journalled.contains($0)
        }
        let report = isDecided ? latest : told.report
        return DeviceStatus(
            conditions: report.conditions, values: report.values, providers: report.providers,
            doze: told.doze.status(now: clock.now()), holders: told.holders, settings: settings)
    }

    func change(_ change: DeviceChange) async throws(Problem) -> DeviceStatus {
        var settings = settings
        if let policy = change.backgroundPolicy { settings.backgroundPolicy = policy }
        if let lead = change.expirationLead {
            guard DeviceSettings.leadAllowed.contains(lead) else {
                throw .invalid(
                    "The lead of expiration handlers is \(DeviceSettings.leadAllowed.lowerBound) to "
                        + "\(DeviceSettings.leadAllowed.upperBound) seconds.", pointer: "/expirationLead")
            }
            settings.expirationLead = lead
        }
        for (key, value) in change.overrides ?? [:] {
            var probe = DeviceConditions()
            if let value, !probe.set(key, to: value) {
                throw .invalid(
                    "'\(value)' is no value of \(key.rawValue), which is \(key.grammar).",
                    pointer: "/overrides/\(key.rawValue)")
            }
            settings.overrides[key] = value
        }
        do {
            try await store.write { [settings] in try $0.put(settings) }
        } catch {
            throw .unavailable(error.message)
        }
        self.settings = settings
        monitor.setOverrides(settings.overrides)
        await parts.withLock(\.self)?.apps.apply(settings)
        await deviceChanged()
        return status()
    }

    func request(_ phase: DozePhase) async throws(Problem) -> DeviceStatus {
        switch doze.request(phase, now: clock.now()) {
        case .success(let changes): await decide(changes)
        case .failure(let refusal):
            let wish = phase == .window ? "There is no window outside of doze" : "The device does not doze now"
            throw .conflict("\(wish): \(refusal.reason.sentence)")
        }
        return status()
    }

    // MARK: - Deciding

    /// Free space changes with every byte.
    private static let journalled = DeviceKey.allCases.filter { $0 != .freeBytes }

    private func take(_ event: Event) async {
        guard !isStopping else { return }
        switch event {
        case .deviceChanged: await deviceChanged()
        case .apps(let activity):
            self.activity.apps = activity
            await activityChanged()
        case .transfers(let activity):
            self.activity.transfers = activity
            await activityChanged()
        case .alarm(let time):
            alarm.rang(time)
            await decide(doze.tick(now: clock.now()))
        }
    }

    private func deviceChanged() async {
        let latest = monitor.report
        let old = conditions
        let keys = latest.conditions.differences(from: old).filter { Self.journalled.contains($0) }
        guard !keys.isEmpty else { return }
        report = latest
        let now = clock.now()
        let words = keys.map { "\($0.rawValue): \(old[$0]) → \(conditions[$0])" }.joined(separator: ", ")
        var entries = [
            JournalEntry(
                time: now.date, decision: .deviceChanged, detail: words, inputs: conditions.inputs(keys))
        ]
        if conditions.isSleeping != old.isSleeping {
            entries.append(
                JournalEntry(time: now.date, decision: conditions.isSleeping ? .deviceSlept : .deviceWoke))
        }
        await decide(doze.changed(to: conditions, now: now), entries, always: true)
    }

    private func activityChanged() async {
        let now = clock.now()
        var entries: [JournalEntry] = []
        let holders = activity.apps.holders
        let isChanged = holders != heldFor
        if isChanged {
            let isHeld = !holders.isEmpty
            let who = isHeld ? holders : heldFor
            entries.append(
                JournalEntry(
                    time: now.date, decision: isHeld ? .deviceHeldAwake : .deviceReleased, detail: who.sentence,
                    inputs: who.inputs))
            heldFor = holders
        }
        let changes = doze.changed(
            held: !holders.isEmpty, busy: activity.apps.working > 0 || activity.transfers.discretionary > 0,
            wakes: activity.apps.wakes > 0, now: now)
        await decide(changes, entries)
        if isChanged, !isStopping { monitor.holdAwake(holders.sentence) }
    }

    /// Writes down what was decided, then lets everybody act on it.
    ///
    /// - Parameter always: whether they are told though the phase is the same.
    private func decide(_ changes: [DozeMachine.Change], _ entries: [JournalEntry] = [], always: Bool = false) async {
        let now = clock.now()
        setAlarm()
        var entries = entries
        for change in changes {
            entries.append(
                JournalEntry(
                    time: now.date, decision: change.decision, detail: change.sentence,
                    inputs: [
                        "power": conditions[.power], "idle": conditions[.idle],
                        "held": activity.apps.holders.isEmpty ? "no" : "yes",
                    ]))
        }
        if entries.isEmpty {
            if told.decision == decisions { told = decided() }
        } else {
            decisions += 1
            let decided = decided()
            do {
                let kept = KeptDoze(doze.state, now: now)
                try await store.write { [entries] transaction in
                    for entry in entries { try transaction.record(entry) }
                    try transaction.put(doze: kept)
                }
            } catch {
                // What was decided holds all the same: the next service would begin with what it finds.
                logger.error("The store failed", metadata: ["error": "\(error)"])
            }
            // Later decisions may have come meanwhile, and may be on disk already.
            if decided.decision == decisions {
                told = self.decided()
            } else if decided.decision > told.decision {
                told = decided
            }
        }
        guard always || !changes.isEmpty, let parts = parts.withLock(\.self) else { return }
        let moment = DeviceMoment(conditions: told.report.conditions, phase: told.doze.phase)
        await parts.apps.apply(moment)
        await parts.transfers.apply(moment)
    }

    private func decided() -> Told { Told(decision: decisions, report: report, doze: doze, holders: heldFor) }

    private func setAlarm() {
        alarm.set(for: isStopping ? nil : doze.nextDeadline, by: clock) { [continuation] in
            continuation.yield(.alarm($0))
        }
    }
}

/// Doze with the clocks that its times are relative to.
private struct KeptDoze: Codable {
    var doze: DozeMachine.State
    var bootID: String
    var bootSeconds: Double
    var wallSeconds: Double

    init(_ doze: DozeMachine.State, now: ClockReading) {
        self.doze = doze
        bootID = now.bootID
        bootSeconds = now.bootSeconds
        wallSeconds = now.wallSeconds
    }

    func state(now: ClockReading) -> DozeMachine.State {
        let then = ClockReading(bootID: bootID, bootSeconds: bootSeconds, wallSeconds: wallSeconds)
        return DozeMachine.moved(doze, by: now.shift(from: then))
    }
}

extension DeviceConditions {
    fileprivate func inputs(_ keys: [DeviceKey]) -> [String: String] {
        keys.reduce(into: [:]) { $0[$1.rawValue] = self[$1] }
    }
}

extension [AwakeHolder] {
    /// Who holds the device awake, for people; nil where nobody does.
    fileprivate var sentence: String? {
        guard !isEmpty else { return nil }
        return map { "\($0.app): \($0.tasks.joined(separator: ", "))" }.joined(separator: "; ")
    }

    fileprivate var inputs: [String: String]? {
        guard !isEmpty else { return nil }
        return ["apps": map(\.app.rawValue).joined(separator: " ")]
    }
}
