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

/// Tells transfers, apps, background refresh, location and remote notifications what moment it is: follows the device, decides
/// over doze, and holds the device awake for those who may. See `docs/decisions/0012`.
actor Conductor {
    private let monitor: DeviceMonitor
    private let store: Store
    private let clock: any ServiceClock
    private let logger: Logger
    private let parts = Mutex(Parts())
    /// What the user has set.
    private var stored = StoredValue(DeviceSettings())
    /// Why that cannot be read: the defaults hold, until something is set.
    private var unreadable: String?
    private var machine: MomentMachine
    /// The device's report at the last decision.
    private var report: DeviceReport
    private var activity = Activity()
    private var alarm = Alarm()
    /// How many decisions with journal entries there were.
    private var decisions = 0
    /// The decision that is on disk, and may be announced.
    private var told: Told
    private var isAnnouncing = false
    /// Those who have more to announce.
    private var announcementWaiters: [CheckedContinuation<Void, Never>] = []
    private var isStopping = false
    private let events: AsyncStream<Event>
    nonisolated private let continuation: AsyncStream<Event>.Continuation
    /// The times since which readings of the device are due.
    private let readings: AsyncStream<Double>
    private let readingRequests: AsyncStream<Double>.Continuation

    private struct Parts {
        var settings: @Sendable (DeviceSettings) async -> Void = { _ in }
        var moments: [@Sendable (DeviceMoment) async -> Void] = []
    }

    private struct Activity {
        var apps = AppActivity()
        var transfers = TransferActivity()

        var facts: MomentMachine.Activity {
            var facts = MomentMachine.Activity()
            facts.holders = apps.holders
            facts.wakes = apps.wakes
            facts.working = apps.working
            facts.transfersWork = transfers.discretionary > 0
            return facts
        }
    }

    private struct Told {
        /// The last decision that it includes.
        var decision: Int
        var report: DeviceReport
        var machine: MomentMachine
    }

    private enum Event: Sendable {
        case deviceChanged
        case apps(AppActivity)
        case transfers(TransferActivity)
        case alarm(Double)
        /// The device has been asked for its conditions since this time.
        case refreshed(askedAt: Double)
    }

    init(monitor: DeviceMonitor, store: Store, clock: any ServiceClock, logger: Logger) {
        self.monitor = monitor
        self.store = store
        self.clock = clock
        self.logger = logger
        let report = monitor.report
        let machine = MomentMachine(
            doze: DozeMachine.State(since: clock.now().wallSeconds), conditions: report.conditions)
        self.machine = machine
        self.report = report
        told = Told(decision: 0, report: report, machine: machine)
        (events, continuation) = AsyncStream.makeStream()
        (readings, readingRequests) = AsyncStream.makeStream()
    }

    /// Sets who is told of the user's settings for the device, and the parts to which moments are announced, in this order. To be
    /// called once, before anything runs.
    nonisolated func connect(
        settings: @escaping @Sendable (DeviceSettings) async -> Void,
        moments: [@Sendable (DeviceMoment) async -> Void]
    ) {
        parts.withLock { $0 = Parts(settings: settings, moments: moments) }
    }

    nonisolated func activityChanged(_ activity: AppActivity) { continuation.yield(.apps(activity)) }

    nonisolated func activityChanged(_ activity: TransferActivity) { continuation.yield(.transfers(activity)) }

    /// Takes up what was set and where doze was, and tells the first moment. Before apps and transfers begin anything.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
    func prepare() async throws(StoreError) {
        let now = clock.now()
        let (settings, state, objection, toDoze) = try await store.read { transaction in
            (
                try transaction.deviceSettings(), try transaction.doze(KeptDoze.self),
                try transaction.objectionToDeviceSettings(), try transaction.objection(toDoze: KeptDoze.self)
            )
        }
        unreadable = objection
        if let objection { try await tell("The device settings cannot be read: \(objection) The defaults apply.", now) }
        if let toDoze { try await tell("The state of doze cannot be read: \(toDoze) The device counts as awake.", now) }
        if let settings { stored = StoredValue(settings) }
        if let state { machine = MomentMachine(doze: state.state(now: now)) }
        monitor.setOverrides(self.settings.overrides)
        monitor.start()
        // Values that are assumed until every source has answered could end a doze, or let something start that has to wait.
        if !monitor.report.isSettled {
            for await _ in monitor.changes where monitor.report.isSettled { break }
        }
        report = monitor.report
        await parts.withLock(\.settings)(self.settings)
        await execute(machine.begin(report.conditions, now: now))
    }

    /// Something that is kept of the device makes no sense.
    private func tell(_ what: String, _ now: ClockReading) async throws(StoreError) {
        logger.error("A row cannot be read", metadata: ["row": "\(what)"])
        try await store.write { transaction in
            try transaction.record(JournalEntry(time: now.date, decision: .unreadable, detail: what))
        }
    }

    /// Follows the device until ``stop()``.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in self.monitor.changes { self.continuation.yield(.deviceChanged) }
            }
            group.addTask {
                for await time in self.readings {
                    await self.monitor.refresh()
                    self.continuation.yield(.refreshed(askedAt: time))
                }
            }
            for await event in events { await handle(event) }
            group.cancelAll()
        }
    }

    func stop() {
        isStopping = true
        alarm.cancel()
        monitor.shutdown()
        continuation.finish()
        readingRequests.finish()
    }

    private var settings: DeviceSettings { stored.value }

    // MARK: - What the API offers

    func status() -> DeviceStatus {
        let latest = monitor.report
        // Values that are not journalled are given as they are now.
        let isDecided = !latest.conditions.differences(from: told.report.conditions).contains {
            MomentMachine.journalled.contains($0)
        }
        let report = isDecided ? latest : told.report
        var status = DeviceStatus(
            conditions: report.conditions, values: report.values, providers: report.providers,
            doze: told.machine.doze.status(now: clock.now()), holders: told.machine.holders, settings: settings.shown)
        status.unreadable = unreadable
        return status
    }

    func change(_ change: DeviceChange) async throws(Problem) -> DeviceStatus {
        try change.check()
        do {
            let time = clock.now().date
            let (settings, order) = try await store.write { transaction in
                let settings = (try transaction.deviceSettings() ?? DeviceSettings()).changed(by: change)
                if try transaction.objectionToDeviceSettings() != nil {
                    try transaction.record(
                        JournalEntry(time: time, decision: .unreadable, detail: Self.replacement))
                }
                try transaction.put(settings)
                return (settings, try transaction.order())
            }
            stored.take(settings, order)
            unreadable = nil
        } catch {
            throw .unavailable(error.message)
        }
        monitor.setOverrides(settings.overrides)
        await parts.withLock(\.settings)(settings)
        await deviceChanged()
        return status()
    }

    private static let replacement =
        "The device settings were replaced. The old ones remain in the database: device.replaced_settings."

    func request(_ phase: DozePhase) async throws(Problem) -> DeviceStatus {
        if phase == .dozing {
            await monitor.refresh()
            await deviceChanged()
        }
        switch machine.request(phase, now: clock.now()) {
        case .success(let actions): await execute(actions)
        case .failure(let refusal):
            let wish = phase == .window ? "A maintenance window requires doze" : "The device cannot doze now"
            throw .conflict("\(wish). \(refusal.reason.sentence)")
        }
        return status()
    }

    // MARK: - Deciding

    private func handle(_ event: Event) async {
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
            await execute(machine.tick(now: clock.now()))
        case .refreshed(let time): await refreshed(askedAt: time)
        }
    }

    private func deviceChanged() async {
        let latest = monitor.report
        let actions = machine.changed(to: latest.conditions, now: clock.now())
        guard !actions.isEmpty else { return }
        report = latest
        await execute(actions)
    }

    private func refreshed(askedAt time: Double) async {
        let latest = monitor.report
        let before = machine.conditions
        let actions = machine.refreshed(latest.conditions, askedAt: time, now: clock.now())
        if machine.conditions != before { report = latest }
        await execute(actions)
    }

    private func activityChanged() async {
        await execute(machine.changed(activity.facts, now: clock.now()))
    }

    /// Writes the decisions down, then executes the other actions.
    private func execute(_ actions: [MomentMachine.Action]) async {
        setAlarm()
        var entries: [JournalEntry] = []
        for case .record(let more) in actions { entries += more }
        await record(entries)
        for action in actions {
            switch action {
            case .record: break
            case .announce: await announceMoment()
            case .holdAwake(let reason): if !isStopping { monitor.holdAwake(reason) }
            case .readConditions(let time): readingRequests.yield(time)
            }
        }
    }

    private func record(_ entries: [JournalEntry]) async {
        guard !entries.isEmpty else {
            if told.decision == decisions { told = decided() }
            return
        }
        decisions += 1
        let decided = decided()
        do {
            let kept = KeptDoze(machine.doze.state, now: clock.now())
            try await store.write { transaction in
                for entry in entries { try transaction.record(entry) }
                try transaction.put(doze: kept)
            }
        } catch {
            // The decision holds all the same: the next service would begin with the state that it finds.
            logger.error("The store failed", metadata: ["error": "\(error)"])
        }
        // Later decisions may have come meanwhile, and may be on disk already.
        if decided.decision == decisions {
            told = self.decided()
        } else if decided.decision > told.decision {
            told = decided
        }
    }

    /// Announces the moment that is on disk, one at a time: an older one must not come to a part behind a newer one.
    private func announceMoment() async {
        guard !isAnnouncing else { return await withCheckedContinuation { announcementWaiters.append($0) } }
        isAnnouncing = true
        let parts = parts.withLock(\.moments)
        var waiters: [CheckedContinuation<Void, Never>] = []
        repeat {
            let moment = told.machine.moment
            for part in parts { await part(moment) }
            for waiter in waiters { waiter.resume() }
            waiters = announcementWaiters
            announcementWaiters = []
        } while !waiters.isEmpty
        isAnnouncing = false
    }

    private func decided() -> Told { Told(decision: decisions, report: report, machine: machine) }

    private func setAlarm() {
        alarm.set(for: isStopping ? nil : machine.nextDeadline, by: clock) { [continuation] in
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
