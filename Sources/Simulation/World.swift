import Apps
import Location
import NightshiftAPI
import Refresh
import Scheduler

/// The complete state of a simulation at one time: a device, its doze, its apps and its transfers.
///
/// Events at the same time happen in this order: lines of the trace, results of processes, and timers of apps,
/// transfers and doze. After each event, ``propagateChanges()`` announces the changes.
struct World {
    private let lines: [TraceLine]
    private var nextLine = 0
    private let end: Double
    let settings: TraceSettings
    /// The policy that replaces every policy of the trace.
    let policy: BackgroundPolicy?
    var clock: VirtualClock
    /// The state machine of the device, which the service's coordinator uses as well.
    var machine: DeviceStateMachine
    /// The apps in the order in which the trace first names them.
    var apps: [SimulatedApp] = []
    var transfers: TransferQueue
    var ledger: Ledger
    /// The state of background refresh, which the service uses as well.
    var refresh: SimulatedRefresh
    /// The state of regions and significant changes, which the service uses as well, and the receiver.
    var location: SimulatedLocation
    private var journal: [JournalEntry] = []
    /// The device state that was last announced to apps and transfers.
    var toldMoment = DeviceState()
    /// Whether the device state has to be announced again.
    var hasToAnnounce = false
    var nextProcessID: Int32 = 1_000

    init(_ trace: Trace, policy: BackgroundPolicy?) {
        lines = trace.lines
        end = trace.lines.last?.at ?? 0
        settings = trace.lines.first?.settings ?? TraceSettings()
        self.policy = policy
        clock = VirtualClock(start: settings.start)
        machine = DeviceStateMachine(doze: DozeMachine.State(since: settings.start))
        transfers = TransferQueue(maximumTransfers: settings.maximumTransfers)
        ledger = Ledger()
        refresh = SimulatedRefresh(trace, now: LocalMoment(seconds: settings.start))
        location = SimulatedLocation(trace)
    }

    var now: ClockReading { clock.reading }
    var moment: DeviceState { machine.moment }
    var conditions: DeviceConditions { machine.conditions }

    mutating func run() -> Simulation.Outcome {
        execute(machine.begin(firstConditions(), now: now))
        (toldMoment, hasToAnnounce) = (moment, false)
        note(.serviceStarted)
        beginRefresh()
        beginLocation()
        var steps = 0
        while let time = nextTime, time <= end {
            steps = time > clock.bootSeconds ? 0 : steps + 1
            precondition(steps < Self.mostSteps, "The simulation is stuck after a deadline at \(time).")
            advance(to: time)
            step()
        }
        advance(to: end)
        return Simulation.Outcome(entries: numbered, totals: ledger.totals(self))
    }

    /// The maximum number of steps at one time, far more than ever occur. It stops a simulation that would never end
    /// because of a bug.
    private static let mostSteps = 20_000

    /// The boot time in seconds of the next event.
    private var nextTime: Double? {
        let line = nextLine < lines.count ? lines[nextLine].at : nil
        // Only the trace can wake a sleeping machine.
        guard !conditions.isSleeping else { return line }
        let now = clock.bootSeconds
        let inApps = apps.compactMap { app in
            [app.process?.nextDone, app.machine.nextDeadline].compactMap(\.self).min()
        }.min().map { clock.bootTime(ofAwakeSeconds: $0) }
        let times = [
            line, inApps, transfers.nextDeadline(now), machine.nextDeadline, nextRefreshLook, nextLocationLook,
        ]
        return times.compactMap(\.self).min().map { max(now, $0) }
    }

    private mutating func advance(to time: Double) {
        let seconds = time - clock.bootSeconds
        guard seconds > 0 else { return }
        ledger.addTime(seconds, self)
        if !conditions.isSleeping {
            for index in apps.indices {
                let id = apps[index].id
                apps[index].advance(seconds, holdsAwake: machine.holders.contains { $0.app == id })
            }
            ledger.addBytes(transfers.move(seconds), conditions.network)
        }
        clock.advance(to: time, isAsleep: conditions.isSleeping)
    }

    /// Handles all events of the current time once.
    private mutating func step() {
        while nextLine < lines.count, lines[nextLine].at <= clock.bootSeconds {
            play(lines[nextLine])
            nextLine += 1
            propagateChanges()
        }
        guard !conditions.isSleeping else { return }
        for index in apps.indices {
            while let job = apps[index].process?.takeDone(clock.awakeSeconds) {
                finish(job, of: index)
                propagateChanges()
            }
            guard apps[index].machine.nextDeadline ?? .infinity <= clock.awakeSeconds else { continue }
            perform(index) { $0.tick(now: $1) }
            propagateChanges()
        }
        transfers.tick(now)
        propagateChanges()
        if nextRefreshLook ?? .infinity <= clock.bootSeconds {
            refresh.isToLook = true
            propagateChanges()
        }
        if nextLocationLook ?? .infinity <= clock.bootSeconds {
            location.isToLook = true
            propagateChanges()
        }
        guard machine.nextDeadline ?? .infinity <= clock.bootSeconds else { return }
        execute(machine.tick(now: now))
        propagateChanges()
    }

    /// Returns the initial conditions. The first lines of the trace about the device describe these conditions, and are
    /// not changes.
    private mutating func firstConditions() -> DeviceConditions {
        var conditions = DeviceConditions()
        while nextLine < lines.count, lines[nextLine].at == 0 {
            let line = lines[nextLine]
            guard line.settings != nil || line.device != nil || line.bytesPerSecond != nil else { break }
            if let speed = line.bytesPerSecond { transfers.bytesPerSecond = speed }
            for key in DeviceKey.allCases {
                if let text = line.device?[key] { _ = conditions.set(key, to: text) }
            }
            if let text = line.device?[.location] { location.place = LocationOverride(text) }
            nextLine += 1
        }
        return conditions
    }

    private mutating func play(_ line: TraceLine) {
        if let speed = line.bytesPerSecond { transfers.bytesPerSecond = speed }
        if let values = line.device { change(values) }
        if let text = line.device?[.location] { moved(to: LocationOverride(text)) }
        if let phase = line.request { request(phase) }
        if let host = line.host { transfers.change(host, now) }
        if let change = line.refresh { self.change(change, line.app) }
        guard let id = line.app else {
            if let transfer = line.transfer { add(transfer, app: nil) }
            return
        }
        let index = index(of: id)
        if let behaviour = line.behaviour { declare(behaviour, index) }
        if let use = line.use { play(use, index) }
        if let task = line.task { begin(task, index) }
        if let transfer = line.transfer { add(transfer, app: index) }
        if let submission = line.submit { submit(submission, index) }
        if let region = line.region { watch(region, id) }
        if let change = line.location { self.change(change, id) }
    }

    /// Announces changes to apps and transfers until the state no longer changes.
    mutating func propagateChanges() {
        var isChanging = true
        var rounds = 0
        while isChanging {
            rounds += 1
            precondition(rounds < Self.mostRounds, "Doze never stops changing: \(journal.suffix(4).map(\.decision)).")
            _ = takeTransfers()
            execute(machine.changed(activity, now: now))
            isChanging = hasToAnnounce
            if hasToAnnounce {
                let before = toldMoment
                (toldMoment, hasToAnnounce) = (moment, false)
                for index in apps.indices { applyPhase(index) }
                transfers.follow(DeviceStateChange.actions(from: before, to: toldMoment, now: now), toldMoment, now)
                refresh.book.apply(moment, now: localNow)
                refresh.isToLook = true
                location.book.apply(moment)
                location.isToLook = true
            }
            transfers.tick(now)
            transfers.admit(moment, now)
            if takeTransfers() { isChanging = true }
            if followRefresh() { isChanging = true }
            if followLocation() { isChanging = true }
        }
    }

    /// The maximum number of rounds. A few rounds are usual, for example when doze opens, closes and reopens a window.
    /// The limit stops a simulation that would never end because of a bug.
    private static let mostRounds = 1_000

    // MARK: - Journal

    mutating func note(
        _ decision: Decision, app: AppID? = nil, detail: String? = nil, inputs: [String: String]? = nil
    ) {
        record(JournalEntry(time: now.date, decision: decision, app: app, detail: detail, inputs: inputs))
    }

    mutating func record(_ entry: JournalEntry) {
        journal.append(entry)
    }

    private var numbered: [JournalEntry] {
        journal.enumerated().map { index, entry in
            var entry = entry
            entry.id = Int64(index + 1)
            return entry
        }
    }
}
