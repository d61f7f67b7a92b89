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

/// The coordinator that sends the device state to transfers, apps, background refresh, location and remote
/// notifications. It observes the device, decides about doze, and keeps the device awake for apps that are entitled to
/// this. See `docs/decisions/0012`.
actor DeviceCoordinator {
    private let monitor: DeviceMonitor
    private let store: Store
    private let clock: any ServiceClock
    private let logger: Logger
    private let parts = Mutex(Parts())
    /// The user's settings for the device.
    private var stored = StoredValue(DeviceSettings())
    /// The reason why the stored settings cannot be read. The defaults apply until the user sets new values.
    private var unreadable: String?
    private var machine: DeviceStateMachine
    /// The report of the device at the latest decision.
    private var report: DeviceReport
    private var activity = Activity()
    private var alarm = Alarm()
    /// The number of decisions so far that have journal entries.
    private var decisions = 0
    /// The latest decision that is on disk, so that it may be announced.
    private var told: Told
    private var isAnnouncing = false
    /// Callers that wait to announce a newer decision.
    private var announcementWaiters: [CheckedContinuation<Void, Never>] = []
    /// Callers that wait until all decisions are on disk.
    private var decisionWaiters: [CheckedContinuation<Void, Never>] = []
    private var isStopping = false
    private let events: AsyncStream<Event>
    nonisolated private let continuation: AsyncStream<Event>.Continuation
    /// A stream of the times at which new readings of the device were requested.
    private let readings: AsyncStream<Double>
    private let readingRequests: AsyncStream<Double>.Continuation

    private struct Parts {
        var settings: @Sendable (DeviceSettings) async -> Void = { _ in }
        var moments: [@Sendable (DeviceState) async -> Void] = []
    }

    private struct Activity {
        var apps = AppActivity()
        var transfers = TransferActivity()

        var facts: DeviceStateMachine.Activity {
            var facts = DeviceStateMachine.Activity()
            facts.holders = apps.holders
            facts.wakes = apps.wakes
            facts.working = apps.working
            facts.transfersWork = transfers.discretionary > 0
            return facts
        }
    }

    private struct Told {
        /// The number of the latest decision that this value includes.
        var decision: Int
        var report: DeviceReport
        var machine: DeviceStateMachine
    }

    private enum Event: Sendable {
        case deviceChanged
        case apps(AppActivity)
        case transfers(TransferActivity)
        case alarm(Double)
        /// The result of a request for new readings of the device, which was made at this time.
        case refreshed(askedAt: Double)
    }

    init(monitor: DeviceMonitor, store: Store, clock: any ServiceClock, logger: Logger) {
        self.monitor = monitor
        self.store = store
        self.clock = clock
        self.logger = logger
        let report = monitor.report
        let machine = DeviceStateMachine(
            doze: DozeMachine.State(since: clock.now().wallSeconds), conditions: report.conditions)
        self.machine = machine
        self.report = report
        told = Told(decision: 0, report: report, machine: machine)
        (events, continuation) = AsyncStream.makeStream()
        (readings, readingRequests) = AsyncStream.makeStream()
    }

    /// Connects the receiver of the user's device settings, and the features. The device states are announced to the
    /// features in this order. This must be called once, before anything runs.
    nonisolated func connect(
        settings: @escaping @Sendable (DeviceSettings) async -> Void,
        moments: [@Sendable (DeviceState) async -> Void]
    ) {
        parts.withLock { $0 = Parts(settings: settings, moments: moments) }
    }

    nonisolated func activityChanged(_ activity: AppActivity) { continuation.yield(.apps(activity)) }

    nonisolated func activityChanged(_ activity: TransferActivity) { continuation.yield(.transfers(activity)) }

    /// Loads the settings and the state of doze, and announces the first device state. This must run before apps and
    /// transfers start anything.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
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
        if let state { machine = DeviceStateMachine(doze: state.state(now: now)) }
        monitor.setOverrides(self.settings.overrides)
        monitor.start()
        // Default values apply until every source has answered. They could end a doze, or start something that has to
        // wait.
        if !monitor.report.isSettled {
            for await _ in monitor.changes where monitor.report.isSettled { break }
        }
        report = monitor.report
        await parts.withLock(\.settings)(self.settings)
        await execute(machine.begin(report.conditions, now: now))
    }

    /// Records that stored data about the device cannot be read.
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

    // MARK: - Requests of the API

    func status() -> DeviceStatus {
        let latest = monitor.report
        // A value that the journal does not record is reported with its current reading.
        let isDecided = !latest.conditions.differences(from: told.report.conditions).contains {
            DeviceStateMachine.journalled.contains($0)
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
        // The same change may have been noticed in the meantime, and its decision may still be under way to the disk.
        await allDecisionsWritten()
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

    // MARK: - Decisions

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

    /// Writes the decisions to disk, then executes the other actions.
    private func execute(_ actions: [DeviceStateMachine.Action]) async {
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
            // The decision remains in effect. After a restart, the service decides again from the current state.
            logger.error("The store failed", metadata: ["error": "\(error)"])
        }
        // Later decisions may have been made in the meantime, and may already be on disk.
        if decided.decision == decisions {
            told = self.decided()
        } else if decided.decision > told.decision {
            told = decided
        }
        guard told.decision == decisions else { return }
        for waiter in decisionWaiters { waiter.resume() }
        decisionWaiters = []
    }

    /// Suspends until ``status()`` includes all decisions so far.
    private func allDecisionsWritten() async {
        guard told.decision < decisions else { return }
        await withCheckedContinuation { decisionWaiters.append($0) }
    }

    /// Announces the device state that is on disk. Announcements are serialized, so that no feature receives an older
    /// state after a newer one.
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

/// The state of doze, with the clock reading to which its times are relative.
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
