import Apps
import Clock
import Device
import Foundation
import Logging
import NightshiftAPI
import Runtime
import Scheduler
import Store
import Transfers

/// The coordinator that sends the device state to transfers, apps, background refresh, location and remote
/// notifications. It observes the device, decides about doze, and keeps the device awake for apps that are entitled to
/// this. See `docs/decisions/0012`.
actor DeviceCoordinator: PartService {
    private let monitor: DeviceMonitor
    private let store: Store
    nonisolated let clock: any ServiceClock
    private let logger: Logger
    let part: Part<CoordinatorState>
    var alarm = Alarm()
    private var receivers = Receivers()
    private var activity = Activity()
    /// The latest device state that was to be announced, with its number.
    private var announced = (number: 0, state: DeviceState())
    private var isAnnouncing = false
    /// Callers that wait until a newer state is announced.
    private var announcementWaiters: [CheckedContinuation<Void, Never>] = []
    private let events: AsyncStream<Event>
    nonisolated private let continuation: AsyncStream<Event>.Continuation
    /// A stream of the times at which new readings of the device were requested.
    private let readings: AsyncStream<Double>
    private let readingRequests: AsyncStream<Double>.Continuation

    /// The receivers of the user's device settings, and of the device state in this order.
    struct Receivers {
        var settings: @Sendable (DeviceSettings) async -> Void = { _ in }
        var states: [@Sendable (DeviceState) async -> Void] = []
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

    private enum Event: Sendable {
        case deviceChanged
        case apps(AppActivity)
        case transfers(TransferActivity)
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
        part = Part(
            CoordinatorState(machine: machine, report: report), store: store, clock: clock,
            closed: "The service is stopping.", logger: logger
        ) { clock.now() }
        (events, continuation) = AsyncStream.makeStream()
        (readings, readingRequests) = AsyncStream.makeStream()
    }

    nonisolated func activityChanged(_ activity: AppActivity) { continuation.yield(.apps(activity)) }

    nonisolated func activityChanged(_ activity: TransferActivity) { continuation.yield(.transfers(activity)) }

    /// Loads the settings and the state of doze, and announces the first device state. This must run before apps and
    /// transfers start anything.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    func prepare(_ receivers: Receivers) async throws(StoreError) {
        self.receivers = receivers
        let now = clock.now()
        let (settings, doze, objection, toDoze) = try await store.read { transaction in
            (
                try transaction.deviceSettings(), try transaction.doze(StoredDoze.self),
                try transaction.objectionToDeviceSettings(), try transaction.objection(toDoze: StoredDoze.self)
            )
        }
        let unreadable = [
            objection.map { "The device settings cannot be read: \($0) The defaults apply." },
            toDoze.map { "The state of doze cannot be read: \($0) The device counts as awake." },
        ].compactMap(\.self)
        for detail in unreadable { logger.error("A row cannot be read", metadata: ["row": "\(detail)"]) }
        let stored = CoordinatorState(
            machine: doze.map { DeviceStateMachine(doze: $0.state(now: now)) } ?? part.state.machine,
            report: part.state.report, stored: settings, unreadable: objection)
        monitor.setOverrides(stored.settings.overrides)
        monitor.start()
        // Default values apply until every source has answered. They could end a doze, or start something that has to
        // wait.
        if !monitor.report.isSettled {
            for await _ in monitor.changes where monitor.report.isSettled { break }
        }
        await receivers.settings(stored.settings)
        let report = monitor.report
        await part.open(stored, hooks) { state, _, now in
            state.note(unreadable: unreadable, now: now)
            state.decide(report) { $0.begin(report.conditions, now: now) }
        }
        await tell { _, _ in }
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

    func stop() async {
        part.close()
        alarm.cancel()
        monitor.shutdown()
        continuation.finish()
        readingRequests.finish()
        await part.settled()
    }

    // MARK: - Requests of the API

    func status() async -> DeviceStatus {
        await part.written(hooks)
        let latest = monitor.report
        // A value that the journal does not record is reported with its current reading.
        let isDecided = !latest.conditions.differences(from: state.report.conditions).contains {
            DeviceStateMachine.journalled.contains($0)
        }
        let report = isDecided ? latest : state.report
        var status = DeviceStatus(
            conditions: report.conditions, values: report.values, providers: report.providers,
            doze: state.machine.doze.status(now: clock.now()), holders: state.machine.holders,
            settings: state.settings.shown)
        status.unreadable = state.unreadable
        return status
    }

    func change(_ change: DeviceChange) async throws(Problem) -> DeviceStatus {
        try change.check()
        try await ask { (state, now) throws(Problem) in state.change(change, now: now) }
        monitor.setOverrides(state.settings.overrides)
        await receivers.settings(state.settings)
        await deviceChanged()
        return await status()
    }

    func request(_ phase: DozePhase) async throws(Problem) -> DeviceStatus {
        if phase == .dozing {
            await monitor.refresh()
            await deviceChanged()
        }
        var result: Result<Void, DozeMachine.Refusal>?
        await tell { state, now in
            state.decide { machine in
                let request = machine.request(phase, now: now)
                result = request.map { _ in }
                return (try? request.get()) ?? []
            }
        }
        switch result {
        case .success: return await status()
        case .failure(let refusal):
            let wish = phase == .window ? "A maintenance window requires doze" : "The device cannot doze now"
            throw .conflict("\(wish). \(refusal.reason.sentence)")
        case nil: throw part.refusal
        }
    }

    // MARK: - Decisions

    private func handle(_ event: Event) async {
        switch event {
        case .deviceChanged: await deviceChanged()
        case .apps(let activity):
            self.activity.apps = activity
            await activityChanged()
        case .transfers(let activity):
            self.activity.transfers = activity
            await activityChanged()
        case .refreshed(let time):
            await tell { state, now in
                let latest = monitor.report
                state.decide(latest) { $0.refreshed(latest.conditions, askedAt: time, now: now) }
            }
        }
    }

    private func deviceChanged() async {
        await tell { state, now in
            // This is read when the step has its turn. An earlier report could undo the decision of a later one.
            let latest = monitor.report
            state.decide(latest) { $0.changed(to: latest.conditions, now: now) }
        }
    }

    private func activityChanged() async {
        await tell { state, now in state.decide { $0.changed(activity.facts, now: now) } }
    }

    func look() async {
        await tell { state, now in state.decide { $0.tick(now: now) } }
    }

    func perform(_ effect: CoordinatorState.Effect) async {
        switch effect {
        case .announce(let number, let state): await announce(number, state)
        case .holdAwake(let reason): if !part.isClosed { monitor.holdAwake(reason) }
        case .readConditions(let time): readingRequests.yield(time)
        }
    }

    /// Announces a device state that is on disk, or could not be written. Announcements are serialized, so that no part
    /// receives an older state after a newer one.
    private func announce(_ number: Int, _ state: DeviceState) async {
        if number > announced.number { announced = (number, state) }
        guard !isAnnouncing else { return await withCheckedContinuation { announcementWaiters.append($0) } }
        isAnnouncing = true
        var waiters: [CheckedContinuation<Void, Never>] = []
        repeat {
            let state = announced.state
            for receive in receivers.states { await receive(state) }
            for waiter in waiters { waiter.resume() }
            waiters = announcementWaiters
            announcementWaiters = []
        } while !waiters.isEmpty
        isAnnouncing = false
    }
}
