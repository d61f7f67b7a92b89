import Apps
import NightshiftAPI
import Refresh
import Scheduler
import Store

/// Handling of apps: events from users and processes, and the actions of the apps' state machines.
extension World {
    /// Returns the index of an app of the trace, and installs the app if it is new.
    mutating func index(of id: AppID) -> Int {
        if let index = apps.firstIndex(where: { $0.id == id }) { return index }
        var machine = AppMachine(
            record: AppRecord(id: id, now: now.wallSeconds), isInstalled: true,
            wakeLimit: AppManifest.defaultWakeLimit, firstNumber: 1)
        machine.terms = terms(AppBehaviour())
        machine.modes = refresh.book.manifests[id]?.modes ?? []
        _ = machine.apply(moment.phase, now: now)
        apps.append(SimulatedApp(id: id, machine: machine))
        return apps.count - 1
    }

    mutating func declare(_ behaviour: AppBehaviour, _ index: Int) {
        apps[index].behaviour = behaviour
        apps[index].machine.terms = terms(behaviour)
        perform(index) { $0.termsChanged(now: $1) }
        guard let interval = behaviour.fetchInterval else { return }
        refresh.book.set(interval, byAppOf: apps[index].id, now: localNow)
        refresh.isToLook = true
    }

    /// Returns the app's terms. The app's own policy takes precedence over the device's policy. A policy for the whole
    /// simulation takes precedence over both.
    private func terms(_ behaviour: AppBehaviour) -> BackgroundTerms {
        BackgroundTerms(
            user: nil, manifest: policy == nil ? behaviour.backgroundPolicy : nil,
            device: policy ?? settings.backgroundPolicy, lead: settings.expirationLead)
    }

    /// Applies the current phase of doze to an app.
    mutating func applyPhase(_ index: Int) {
        perform(index) { [phase = moment.phase] in $0.apply(phase, now: $1) }
    }

    mutating func play(_ use: AppUse, _ index: Int) {
        switch use {
        case .front: perform(index) { $0.bringToFront(now: $1) }
        case .background: perform(index) { $0.sendToBackground(now: $1) }
        case .quit: perform(index) { $0.quit(force: false, now: $1) }
        case .forceQuit: perform(index) { $0.quit(force: true, now: $1) }
        }
    }

    /// Begins a task at once if the app is running. Otherwise the task begins when the app next runs.
    mutating func begin(_ task: TracedTask, _ index: Int) {
        apps[index].pending.append(task)
        beginPending(index)
    }

    mutating func add(_ transfer: TracedTransfer, app index: Int?) {
        guard let index else {
            return transfers.add(transfer, app: nil, isForced: false, notBefore: nil, moment, now)
        }
        let machine = apps[index].machine
        let pause = machine.startsPausedUntil(now: now).map { clock.bootSeconds + $0 - now.wallSeconds }
        let session = apps[index].session(transfer.session)
        apps[index].sessions[session].wakesApp = transfer.wakesApp
        apps[index].sessions[session].unfinished += transfer.count
        transfers.add(
            transfer, app: apps[index].id, isForced: machine.isInBackground,
            notBefore: pause.map(VirtualClock.milliseconds), moment, now)
    }

    /// Handles the decisions about transfers. Returns false if no transfer ended.
    mutating func takeTransfers() -> Bool {
        for entry in transfers.entries { record(entry) }
        transfers.entries = []
        let ended = transfers.ended
        transfers.ended = []
        for transfer in ended {
            guard let app = transfer.record.app else { continue }
            let index = index(of: app)
            let session = apps[index].session(transfer.session)
            apps[index].sessions[session].unfinished -= 1
            apps[index].sessions[session].messages += 1
            readMessages(index)
            perform(index) { [wanted = apps[index].wanted] in $0.setWantedWakes(wanted, now: $1) }
        }
        return !ended.isEmpty
    }

    // MARK: - Processes

    /// Ends a job of a process.
    mutating func finish(_ job: Process.Job.Kind, of index: Int) {
        let behaviour = apps[index].behaviour
        switch job {
        case .connect:
            guard let process = apps[index].process else { return }
            perform(index) { $0.connected(Self.stored(process.processID), now: $1) }
            listened(index)
        case .acknowledge(let command):
            if command.action == .expire, behaviour.endsTasks {
                for number in apps[index].process?.openTasks ?? [] { endTask(number, index) }
            }
            if command.action == .expireWake, behaviour.endsTasks { endWake(command, index) }
            perform(index) { $0.acknowledged(command.number, result: behaviour.refreshResult, now: $1) }
        case .task(let number): endTask(number, index)
        case .exit: exited(index, AppExit(time: now.date, cause: .exited, status: 0))
        }
    }

    private mutating func exited(_ index: Int, _ exit: AppExit) {
        guard apps[index].process != nil else { return }
        apps[index].process = nil
        perform(index) { $0.exited(exit, now: $1) }
        apps[index].countEnd()
    }

    /// Handles the time at which a process runs and is connected. The process then reads its messages and begins its
    /// pending tasks.
    private mutating func listened(_ index: Int) {
        readMessages(index)
        beginPending(index)
    }

    /// Marks messages as read. A process that is already running reads its messages on arrival. A process that was
    /// woken for them reads them when it handles the wake.
    private mutating func readMessages(_ index: Int) {
        guard apps[index].isListening, apps[index].machine.wakes(now: now).isEmpty else { return }
        for session in apps[index].sessions.indices {
            apps[index].sessions[session].handled = apps[index].sessions[session].messages
        }
    }

    private mutating func beginPending(_ index: Int) {
        guard apps[index].isListening else { return }
        let pending = apps[index].pending
        apps[index].pending = []
        for task in pending {
            guard let number = apps[index].process?.openTask() else { return }
            // The job begins before the state machine is called, because the state machine may respond by freezing the
            // process at once.
            apps[index].process?.begin(.task(number), seconds: task.seconds, clock.awakeSeconds)
            var refusal: BackgroundTaskRefusal?
            perform(index) { machine, now in
                switch machine.beginTask(number, name: task.name, now: now) {
                case .success(let actions): return actions
                case .failure(let failure):
                    refusal = failure
                    return [.note(.backgroundTaskRefused, "\(task.name): \(failure.sentence)")]
                }
            }
            if refusal != nil { apps[index].process?.closeTask(number) }
        }
    }

    private mutating func endTask(_ number: Int64, _ index: Int) {
        apps[index].process?.closeTask(number)
        perform(index) { $0.endTask(number, now: $1) }
    }

    // MARK: - Actions of state machines

    /// Sends an input to a state machine and executes its actions, like `AppService`.
    mutating func perform(_ index: Int, _ input: (inout AppMachine, ClockReading) -> [AppAction]) {
        let now = now
        let before = apps[index].machine.record
        execute(input(&apps[index].machine, now), index)
        tellParts(apps[index].id, from: before, to: apps[index].machine.record)
    }

    private mutating func execute(_ actions: [AppAction], _ index: Int) {
        var actions = actions
        let time = clock.awakeSeconds
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .spawn:
                var process = Process(processID: nextProcessID)
                nextProcessID += 1
                process.begin(.connect, seconds: apps[index].behaviour.launch, time)
                apps[index].process = process
                let now = now
                actions += apps[index].machine.spawned(Self.stored(process.processID), now: now)
            case .send(let command): beginCommand(command, index)
            // The apps of a trace have no secondary processes.
            case .tellGuest: break
            case .freeze: apps[index].process?.freeze(time)
            case .thaw:
                apps[index].process?.thaw(time)
                listened(index)
            case .terminate: apps[index].process?.begin(.exit, seconds: Self.exitTime, time)
            case .kill: exited(index, AppExit(time: now.date, cause: .signalled, signal: 9))
            case .finishWake(let wake, let outcome):
                let now = now
                guard wake.source == .session else {
                    finishRefreshWake(wake, outcome, index)
                    finishLocationWake(wake, index)
                    let wanted = apps[index].wanted
                    actions += apps[index].machine.setWantedWakes(wanted, now: now)
                    break
                }
                let place = apps[index].session(wake.key)
                apps[index].sessions[place].handled = max(apps[index].sessions[place].handled, wake.through)
                let wanted = apps[index].wanted
                actions += apps[index].machine.setWantedWakes(wanted, now: now)
            case .cancelTransfers: transfers.cancel(apps[index].id, now)
            case .cameToFront: transfers.liftConditions(of: apps[index].id, now)
            case .note(let decision, let detail, let inputs):
                apps[index].count(decision)
                note(decision, app: apps[index].id, detail: detail, inputs: inputs.isEmpty ? nil : inputs)
            }
        }
    }

    /// Begins to handle a command, which takes the process some time.
    private mutating func beginCommand(_ command: ProcessCommand, _ index: Int) {
        let behaviour = apps[index].behaviour
        let kind: Process.Job.Kind = command.action == .terminate ? .exit : .acknowledge(command)
        let seconds =
            switch command.action {
            case .enter: command.state == .background ? behaviour.enterBackground : 0
            case .handleEvents: behaviour.wake
            case .handleWake: handling(command.source, behaviour)
            case .snapshot: Self.snapshotTime
            case .expire, .expireWake, .present: behaviour.expiration
            case .terminate: Self.exitTime
            }
        apps[index].process?.begin(kind, seconds: seconds, clock.awakeSeconds)
    }

    /// Returns the number of seconds that the app needs to handle a wake.
    private func handling(_ source: WakeSource?, _ behaviour: AppBehaviour) -> Double {
        switch source {
        case .processing: behaviour.processing
        case .region, .significantChange: behaviour.located
        default: behaviour.fetch
        }
    }

    private static func stored(_ processID: Int32) -> StoredProcess {
        StoredProcess(processID: processID, startTime: 0, bootID: "trace", isManaged: true)
    }

    /// The number of seconds that every app needs to draw a snapshot. The next constant is the time that it needs to
    /// exit.
    private static let snapshotTime = 0.1
    private static let exitTime = 0.1
}
