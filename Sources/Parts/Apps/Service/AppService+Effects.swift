import Clock
import Foundation
import Glibc
import Logging
import NightshiftAPI
import Runtime
import Store

/// The steps of apps: inputs of their machines, and the execution of the actions that the machines return.
extension AppService {
    /// Gives a machine an input, executes its actions, and returns when the step is on disk or could not be written.
    ///
    /// While the service stops, it begins no work, because it could not supervise that work. Its next run begins the
    /// work.
    ///
    /// - Returns: whether the step is on disk.
    @discardableResult
    func perform(_ id: AppID, _ input: (inout AppMachine, ClockReading) -> [AppAction]) async -> Bool {
        guard unreadable[id] == nil else { return false }
        return await tell { state, now in self.input(id, &state, now, input) }
    }

    private func input(
        _ id: AppID, _ state: inout AppsState, _ now: ClockReading,
        _ input: (inout AppMachine, ClockReading) -> [AppAction]
    ) {
        state.add(state.apply(to: machine(id, in: state), now: now, input), of: id)
    }

    /// Gives a machine an input while actions are executed. Returns its actions.
    private func input(_ id: AppID, _ input: (inout AppMachine, ClockReading) -> [AppAction]) -> [AppAction] {
        let machine = machine(id)
        let actions = part.take { $0.apply(to: machine, now: now, input) }
        followSteps()
        return actions
    }

    /// Returns the machine of an app, updated with the current desktop entry.
    func machine(_ id: AppID) -> AppMachine { machine(id, in: part.state) }

    func machine(_ id: AppID, in state: AppsState) -> AppMachine {
        updated(state.machines[id] ?? newMachine(AppRecord(id: id, now: now.wallSeconds)))
    }

    func updated(_ machine: AppMachine) -> AppMachine {
        var machine = machine
        let manifest = manifest(machine.record.id)
        machine.isInstalled = manifest != nil
        machine.wakeLimit = manifest?.wakeLimit ?? AppManifest.defaultWakeLimit
        machine.modes = manifest?.modes ?? []
        machine.hasWakeCommand = manifest?.wakeCommand != nil
        machine.terms = terms(machine.record, manifest)
        return machine
    }

    func newMachine(_ record: AppRecord) -> AppMachine {
        var machine = AppMachine(
            record: record, isInstalled: false, wakeLimit: AppManifest.defaultWakeLimit, firstNumber: firstNumber)
        machine.device = device.phase
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

    /// Executes the actions of a step before it is written.
    package func decided() {
        followSteps()
        while let next = part.take({ $0.takeAction(now) }) {
            execute(next.action, next.app)
        }
        updateFrontUse()
        reportActivity()
    }

    /// Follows the changes of machines. Until here the use of an app is measured by its windows, from here on by its
    /// states. Ending the first before starting the second avoids counting the use twice.
    private func followSteps() {
        for step in part.take({ $0.takeSteps() }) {
            writeClock(step.app)
            removePayloads(of: step.app)
            if front.use.app == step.app { updateFrontUse() }
            publish(step.app, from: step.before, to: step.after)
        }
    }

    private func execute(_ action: AppAction, _ id: AppID) {
        switch action {
        case .spawn(let background, let wakes, let arguments):
            let actions = spawn(id, background: background, wakes: wakes, arguments: arguments)
            part.take { $0.add(actions, of: id) }
        case .send(let command): connection(of: id)?.continuation.yield(.command(command))
        case .tellGuest(let process, let command):
            if let guest = connections[process], guest.app == id { guest.continuation.yield(.command(command)) }
        case .freeze:
            let actions = freeze(id)
            part.take {
                $0.add(actions, of: id, first: true)
                $0.add(.setListening(id, false))
            }
        case .thaw:
            if let process = process(of: id) { _ = environment.host.resume(process) }
            part.take { $0.add(.setListening(id, true)) }
        case .terminate: signal(id, SIGTERM)
        case .kill: signal(id, SIGKILL)
        case .note, .finishWake, .cancelTransfers, .cameToFront: break
        }
    }

    package func perform(_ effect: AppEffect) async {
        switch effect {
        case .begin(let process, let id): await begin(process, id)
        case .cancelTransfers(let id): await environment.transfers.forceQuit(id)
        case .setListening(let id, let isListening): await environment.transfers.setListening(id, isListening)
        case .acknowledge(let end):
            await environment.transfers.acknowledge(end.wake.app, end.wake.key, end.wake.through)
            await tell { state, _ in state.finish(end) }
        case .readWakes(let id): await readWantedWakes(of: id)
        }
    }

    package func written(_ changes: AppChanges) {
        for end in changes.ends where end.wake.source.rules.hasResult { events.publish(.wakesEnded, of: end.wake.app) }
        for id in changes.fronts { reporting.yield { await $0.environment.transfers.cameToFront(id) } }
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
            part.take { $0.add(.begin(process, id)) }
            return input(id) { $0.spawned(StoredProcess(process, isManaged: true), now: $1) }
        } catch {
            return input(id) { $0.spawnFailed(error.message, now: $1) }
        }
    }

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

    package var furtherDecision: Double? {
        let now = now
        return presentationDeadlines.min().map { now.bootSeconds + $0 - now.awakeSeconds }
    }

    package func look() async {
        endLatePresentations()
        await tell { state, now in
            for id in state.takeDue(now) {
                // This process has ended, and the service is about to handle its exit. Its deadlines no longer apply.
                let process = state.machines[id]?.record.process.map { ProcessIdentity($0) }
                if let process, environment.host.hasEnded(process) { continue }
                input(id, &state, now) { $0.tick(now: $1) }
            }
        }
    }
}
