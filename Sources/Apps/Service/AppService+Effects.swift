import Clock
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Runtime
import Store

/// The execution of the actions that the machines return.
extension AppService {
    /// Gives a machine an input and executes its actions.
    func perform(_ id: AppID, _ input: (inout AppMachine, ClockReading) -> [AppAction]) async {
        // While the service stops, it begins no work, because it could not supervise that work. Its next run begins the
        // work.
        guard !isStopping, unreadable[id] == nil else { return }
        var machine = machine(id)
        let before = machine
        let actions = input(&machine, now)
        machines[id] = machine
        writeClock(id)
        removePayloads(of: id)
        reportActivity()
        // Until here the app's use is measured by its windows, from here on by its states. Ending the first before
        // starting the second avoids counting the use twice.
        if front.use.app == id { updateFrontUse() }
        publish(id, from: before, to: machine)
        if actions.isEmpty, machine.record == before.record { return setAlarm() }
        await execute(actions, id)
        if front.app == id { updateFrontUse() }
    }

    /// Returns the machine of an app, updated with the current desktop entry.
    func machine(_ id: AppID) -> AppMachine {
        let manifest = manifest(id)
        var machine = machines[id] ?? newMachine(id)
        machine.isInstalled = manifest != nil
        machine.wakeLimit = manifest?.wakeLimit ?? AppManifest.defaultWakeLimit
        machine.modes = manifest?.modes ?? []
        machine.hasWakeCommand = manifest?.wakeCommand != nil
        machine.terms = terms(machine.record, manifest)
        return machine
    }

    private func newMachine(_ id: AppID) -> AppMachine {
        var machine = AppMachine(
            record: AppRecord(id: id, now: now.wallSeconds), isInstalled: false,
            wakeLimit: AppManifest.defaultWakeLimit, firstNumber: firstNumber)
        machine.device = phase
        return machine
    }

    private func terms(_ record: AppRecord, _ manifest: AppManifest?) -> BackgroundTerms {
        BackgroundTerms(
            user: record.background.policy, manifest: manifest?.backgroundPolicy, device: settings.backgroundPolicy,
            lead: settings.expirationLead, fileLocks: manifest?.fileLocks ?? .warn)
    }

    func manifest(_ id: AppID) -> AppManifest? {
        id.isProgram ? nil : (try? environment.entries.find(id)) ?? nil
    }

    /// Executes actions in three stages: actions on processes, in order; then the write to the store; then
    /// notifications to other features.
    func execute(_ actions: [AppAction], _ id: AppID) async {
        writes[id, default: PendingWrites()].begin()
        var actions = (recovered.removeValue(forKey: id) ?? []) + actions
        var entries: [JournalEntry] = []
        var finished: [FinishedWake] = []
        var isForceQuit = false
        var isInFront = false
        var listening: Bool?
        var spawned: ProcessIdentity?
        while !actions.isEmpty {
            switch actions.removeFirst() {
            case .spawn(let background, let wakes, let arguments):
                actions += spawn(id, background: background, wakes: wakes, arguments: arguments)
                spawned = process(of: id)
            case .send(let command): connection(of: id)?.continuation.yield(.command(command))
            case .tellGuest(let process, let command):
                if let guest = connections[process], guest.app == id { guest.continuation.yield(.command(command)) }
            case .freeze:
                listening = false
                actions = freeze(id) + actions
            case .thaw:
                if let process = process(of: id) { _ = environment.host.resume(process) }
                listening = true
            case .terminate: signal(id, SIGTERM)
            case .kill: signal(id, SIGKILL)
            case .finishWake(let wake, let outcome):
                finished.append(FinishedWake(wake: wake, outcome: outcome, time: now.wallSeconds))
            case .cancelTransfers: isForceQuit = true
            case .cameToFront: isInFront = true
            case .note(let decision, let detail, let inputs):
                entries.append(
                    JournalEntry(
                        time: now.date, decision: decision, app: id, detail: detail,
                        inputs: inputs.isEmpty ? nil : inputs))
            }
        }
        setAlarm()
        // This comes first. Otherwise, a crash of the service in between could leave messages without a wake.
        for end in finished where end.wake.source == .session {
            guard case .exited = end.outcome else { continue }
            await environment.transfers.acknowledge(id, end.wake.key, end.wake.through)
        }
        let hasLifted = await write(id, entries, finished, isInFront: isInFront)
        if let spawned { await begin(spawned, id) }
        // The transfers are cancelled before the caller gets its response.
        if isForceQuit { await environment.transfers.forceQuit(id) }
        stepWritten(id)
        if let listening { await environment.transfers.setListening(id, listening) }
        if hasLifted { await environment.transfers.cameToFront(id) }
        // When a wake has ended, a waiting wake may be able to begin.
        if !finished.isEmpty { await readWantedWakes(of: id) }
    }

    /// The end of a wake that is not yet on disk.
    struct FinishedWake {
        var wake: WantedWake
        var outcome: WakeOutcome
        /// The time of the end, in seconds since 1970.
        var time: Double
    }

    /// Suspends the app. If it holds locks on files that other processes have open, its lock policy may end it instead.
    private func freeze(_ id: AppID) -> [AppAction] {
        guard let process = process(of: id) else { return [] }
        let locks = environment.host.locks(process)
        let consequences = locks.isEmpty ? [] : input(id) { $0.found(locks, now: $1) }
        guard !consequences.contains(.kill) else { return consequences }
        if !environment.host.suspend(process) {
            environment.logger.warning("A process could not be suspended", metadata: ["app": "\(id)"])
            return consequences + input(id) { $0.suspensionFailed(now: $1) }
        }
        return consequences
    }

    /// Writes a step of the app to the store: its record, its journal entries and the ends of its wakes.
    ///
    /// - Parameter isInFront: whether the app came to the foreground. If so, its blocked tasks are unblocked in the
    ///   same transaction. A task being added reads the app's row in its own transaction. If that transaction comes
    ///   first, the task is unblocked here; if it comes later, the task is not blocked.
    /// - Returns: whether tasks of the app were unblocked.
    @discardableResult
    func write(
        _ id: AppID, _ entries: [JournalEntry], _ finished: [FinishedWake], isInFront: Bool = false
    ) async -> Bool {
        let record = machines[id]?.record
        let time = now.date
        let lifts = isInFront || unlifted.contains(id)
        let finished = (unfinished.removeValue(forKey: id) ?? []) + finished
        writes[id, default: PendingWrites()].begin()
        defer { stepWritten(id) }
        do {
            try await store.write { transaction in
                // A program without a desktop entry is stored only while it runs.
                if let record, !id.isProgram || record.process != nil {
                    try transaction.put(record)
                } else if id.isProgram {
                    try transaction.deleteApp(id)
                }
                for entry in entries { try transaction.record(entry) }
                for end in finished { try transaction.finishWake(end.wake, end.outcome.end(at: end.time)) }
                if lifts { try transaction.liftHolds(of: id, at: time) }
            }
            if lifts { unlifted.remove(id) }
            unwritten.written(id)
            if finished.contains(where: \.wake.source.hasResult) { events.publish(.wakesEnded, of: id) }
            return lifts
        } catch {
            if lifts { unlifted.insert(id) }
            if !finished.isEmpty { unfinished[id, default: []] += finished }
            // The row is written with the app's next step, or retried after a pause. A crash before then loses this
            // step.
            unwritten.failed(id, now: now)
            setAlarm()
            environment.logger.error("The store failed", metadata: ["error": "\(error)", "app": "\(id)"])
            return false
        }
    }

    private func stepWritten(_ id: AppID) {
        writes[id]?.end()
        if writes[id]?.areUnderWay == false { writes[id] = nil }
    }

    /// Returns when every step of the app is on disk or has failed to be written. Responses to callers wait for this.
    func written(_ id: AppID) async {
        while writes[id] != nil {
            await withCheckedContinuation { writes[id, default: PendingWrites()].add($0) }
        }
    }

    private func spawn(
        _ id: AppID, background: Bool, wakes: [WantedWake], arguments: [String]
    ) -> [AppAction] {
        guard let manifest = manifest(id) else {
            return input(id) { $0.spawnFailed("Its desktop entry no longer exists.", now: $1) }
        }
        let command = background && !wakes.isEmpty ? manifest.wakeCommand ?? manifest.command : manifest.command
        do throws(LaunchFailure) {
            var plan = LaunchPlan(
                app: id, program: command[0], arguments: Array(command.dropFirst()) + arguments,
                environment: launchVariables(id, manifest, background: background, wakes: wakes),
                directory: manifest.directory ?? environment.homeDirectory, log: logPath(id))
            if let payloads = try writePayloads(of: id, wakes) { plan.environment["NIGHTSHIFT_PAYLOAD"] = payloads }
            plan.fileCreationMask = environment.fileCreationMask
            plan.openFiles = Self.openFiles
            plan.logLimit = manifest.logLimit
            let process = try environment.host.launch(plan)
            return input(id) { $0.spawned(StoredProcess(process, isManaged: true), now: $1) }
        } catch {
            return input(id) { $0.spawnFailed(error.message, now: $1) }
        }
    }

    /// Lets a launched process execute its program, once its launch is on disk. From then on, the next run of the
    /// service knows the process and does not launch the app a second time.
    private func begin(_ process: ProcessIdentity, _ id: AppID) async {
        do throws(LaunchFailure) {
            try environment.host.begin(process)
        } catch {
            guard self.process(of: id) == process else { return }
            await perform(id) { $0.spawnFailed(error.message, now: $1) }
        }
    }

    /// Sends a signal to the app's process. If the service launched that process, all processes that it has started
    /// also get the signal.
    private func signal(_ id: AppID, _ signal: Int32) {
        guard let process = process(of: id) else { return }
        guard machines[id]?.isManaged == true else {
            if process.isAlive { Glibc.kill(process.pid, signal) }
            return
        }
        if signal == SIGKILL { environment.host.kill(process) } else { environment.host.terminate(process) }
    }

    /// The usual soft limit of open files, which launched programs get. The service raises its own limit, but programs
    /// that use select(2) rely on the usual one.
    private static let openFiles: UInt64 = 1_024

    /// Gives a machine an input while the actions of an earlier input are executed. Returns the new actions.
    private func input(_ id: AppID, _ input: (inout AppMachine, ClockReading) -> [AppAction]) -> [AppAction] {
        var machine = machine(id)
        let before = machine
        let actions = input(&machine, now)
        machines[id] = machine
        writeClock(id)
        removePayloads(of: id)
        reportActivity()
        publish(id, from: before, to: machine)
        return actions
    }

    func launchVariables(
        _ id: AppID, _ manifest: AppManifest, background: Bool, wakes: [WantedWake]
    ) -> [String: String] {
        var variables =
            AppEnvironment(
                service: environment.variables, session: environment.sessionVariables(), account: .current,
                homeDirectory: environment.homeDirectory
            ).variables
        variables["NIGHTSHIFT_APP"] = id.rawValue
        variables["NIGHTSHIFT_SOCKET"] = environment.paths.socket.path
        variables["NIGHTSHIFT_LAUNCH"] = background ? "background" : "foreground"
        var wakes = AppEnvironment.wakeVariables(wakes, declaredLimit: manifest.wakeLimit)
        // A program in the foreground has no limit.
        if !background { wakes["NIGHTSHIFT_WAKE_LIMIT"] = nil }
        return variables.merging(wakes) { $1 }
    }

    func process(of id: AppID) -> ProcessIdentity? {
        machines[id]?.record.process.map { ProcessIdentity($0) }
    }

    /// Returns the command stream of the app's own process.
    func connection(of id: AppID) -> Connection? {
        func isOwn(_ connection: Connection) -> Bool { connection.app == id && !connection.isGuest }
        if let pid = process(of: id)?.pid, let own = connections[pid], isOwn(own) { return own }
        return connections.values.first(where: isOwn)
    }

    func logPath(_ id: AppID) -> String { path(id, "log") }

    func path(_ id: AppID, _ kind: String) -> String {
        environment.paths.apps.appending(path: "\(id.fileName).\(kind)").path(percentEncoded: false)
    }

    // MARK: - Time

    func setAlarm() {
        let now = now
        let next = ([unwritten.again, machines.nextDeadline()].compactMap(\.self) + presentationDeadlines).min()
        // If the machine sleeps before the deadline, the alarm rings early and is set again.
        let bootSeconds = next.map { now.bootSeconds + $0 - now.awakeSeconds }
        alarm.set(for: isStopping ? nil : next, atBootSeconds: bootSeconds, by: environment.clock) {
            await self.alarmRang($0)
        }
    }

    private func alarmRang(_ awakeSeconds: Double) async {
        alarm.rang(awakeSeconds)
        for id in machines.takeDue(now) {
            // This process has ended, and the service is about to handle its exit. Its deadlines no longer apply.
            if let process = process(of: id), environment.host.hasEnded(process) { continue }
            await perform(id) { $0.tick(now: $1) }
        }
        endLatePresentations()
        for id in unwritten.takeDue(now) { await write(id, [], []) }
        setAlarm()
    }
}
