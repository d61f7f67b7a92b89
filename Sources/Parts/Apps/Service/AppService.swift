package import Clock
import Foundation
package import Logging
package import NightshiftAPI
package import Runtime
package import Store

/// The apps of one user. This actor launches, wakes, suspends and ends them, and reports the reasons. It implements all
/// app operations of the local API.
///
/// When a method returns, its effects are on disk. One exception is an event of a process while the disk fails: it is
/// written when the disk has room again. Every method throws only ``Problem``. One ``AppMachine`` per app makes the
/// decisions; this actor executes them.
package actor AppService: PartService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        package var paths: ServicePaths
        package var store: Store
        package var host: any ProcessHost
        package var entries: EntryDirectories
        package var clock: any ServiceClock
        package var transfers: TransferHooks
        /// The environment of the service. Launched processes get some of its variables: ``AppEnvironment``.
        package var variables: [String: String]
        /// Returns the environment that the systemd user manager currently gives to the programs that it starts; nil if
        /// no user manager answers.
        package var sessionVariables: @Sendable () -> [String: String]?
        package var homeDirectory: String
        /// The umask of launched processes.
        package var fileCreationMask: UInt32
        /// A callback that receives each change of the background activity that doze takes into account.
        package var activity: @Sendable (AppActivity) -> Void
        package var logger: Logger

        package init(
            paths: ServicePaths, store: Store, host: any ProcessHost, entries: EntryDirectories,
            clock: any ServiceClock, transfers: TransferHooks, variables: [String: String],
            sessionVariables: @escaping @Sendable () -> [String: String]? = { nil }, homeDirectory: String,
            fileCreationMask: UInt32, activity: @escaping @Sendable (AppActivity) -> Void = { _ in }, logger: Logger
        ) {
            self.paths = paths
            self.store = store
            self.host = host
            self.entries = entries
            self.clock = clock
            self.transfers = transfers
            self.variables = variables
            self.sessionVariables = sessionVariables
            self.homeDirectory = homeDirectory
            self.fileCreationMask = fileCreationMask
            self.activity = activity
            self.logger = logger
        }
    }

    /// Calls from the app service to the transfers.
    package struct TransferHooks: Sendable {
        /// Cancels all tasks of the app.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// Reports that the app came to the foreground. Tasks that were blocked because it was in the background may
        /// start. Their rows are already updated.
        package var cameToFront: @Sendable (AppID) async -> Void
        /// Sets whether the app's process can read messages.
        package var setListening: @Sendable (AppID, Bool) async -> Void
        /// Acknowledges the messages of a session up to the given one.
        package var acknowledge: @Sendable (AppID, _ session: String, _ through: Int64) async -> Void

        package init(
            forceQuit: @escaping @Sendable (AppID) async -> Void,
            cameToFront: @escaping @Sendable (AppID) async -> Void,
            setListening: @escaping @Sendable (AppID, Bool) async -> Void,
            acknowledge: @escaping @Sendable (AppID, _ session: String, _ through: Int64) async -> Void
        ) {
            self.forceQuit = forceQuit
            self.cameToFront = cameToFront
            self.setListening = setListening
            self.acknowledge = acknowledge
        }
    }

    nonisolated let environment: Environment
    package let part: Part<AppsState>
    /// Processes with an open command stream, by pid.
    var connections: [Int32: Connection] = [:]
    var nextConnection = 0
    /// The callers that wait for the end of an app's process.
    var endWaiters: [AppID: [CheckedContinuation<Void, Never>]] = [:]
    package var alarm = Alarm()
    /// The user's settings for the device.
    var settings = DeviceSettings()
    /// The last device state. Its phase of doze says whether background work runs on the device.
    var device = DeviceState()
    /// The activity that was last reported.
    var activity = AppActivity()
    /// The files from which processes read their background time.
    var clocks: [AppID: ClockFile] = [:]
    var front = Front()
    /// Notifications about which an app in the foreground was asked how to present them.
    var presentations: [Presentation.Key: Presentation] = [:]
    /// Apps whose process has a payload file.
    var payloadFiles: Set<AppID> = []
    var readings = WakeReadings()
    nonisolated let reporting = Mailbox<AppService>()
    package nonisolated let events = AppEvents()
    var sentNotices = SentNotices()

    struct Connection {
        /// A number that distinguishes successive streams of one process.
        var number: Int
        /// A name that also distinguishes streams of different runs of the service: ``ProcessHello/channel``.
        let name = UUID().uuidString
        var app: AppID
        /// Whether this is a secondary process of the app, not the one that the machine manages.
        var isGuest: Bool
        /// Whether this is the supervising process of a command, not a process of the app.
        var isRunner = false
        var continuation: AsyncStream<ProcessEvent>.Continuation
    }

    package init(_ environment: Environment) {
        self.environment = environment
        part = Part(
            AppsState(), store: environment.store, clock: environment.clock, closed: "The service is stopping.",
            logger: environment.logger
        ) { environment.clock.now() }
    }

    /// Manages the apps until ``stop()``. ``prepare()`` must have returned before. `prepare()` is a separate step
    /// because it must finish before the first request is handled.
    package func run() async {
        precondition(!part.isNew, "Call prepare() first, to adopt the apps of the previous run.")
        environment.logger.info("Apps are suspended by \(environment.host.name)")
        await look()
        // A program without a desktop entry has a machine only while it runs.
        await tell { state, _ in for id in state.machines.keys { state.forgetEndedProgram(id) } }
        // The signals are read before the first update, so that rows added during that update cause another one.
        let (messages, wakes) = (store.messageSignal.last, store.wakeSignal.last)
        await updateWantedWakes()
        await reporting.run(
            by: self,
            beside: [
                { await $0.follow($0.store.messageSignal, past: messages) },
                { await $0.follow($0.store.wakeSignal, past: wakes) },
                { await $0.followExits() },
                { await $0.events.run() },
            ])
    }

    /// Resumes all suspended apps and makes ``run()`` return. The apps continue to run.
    package func stop() async {
        guard !isStopping else { return }
        part.close()
        alarm.cancel()
        for connection in connections.values {
            connection.continuation.yield(.stopping)
            connection.continuation.finish()
        }
        environment.host.shutdown()
        for waiter in endWaiters.values.joined() { waiter.resume() }
        endWaiters = [:]
        events.stop()
        for key in presentations.keys { endPresentation(key, .asSent) }
        reporting.finish()
        await part.settled()
    }

    package nonisolated var clock: any ServiceClock { environment.clock }
    nonisolated var now: ClockReading { environment.clock.now() }
    var isStopping: Bool { part.isClosed }
    var machines: MachineTable { part.state.machines }
    var unreadable: [AppID: UnreadableApp] { part.state.unreadable }
    nonisolated var store: Store { environment.store }

    /// Adopts the apps that the previous run of the service left running. Callers must call it once, before processes
    /// of these apps can connect. A process that connects earlier would be mistaken for one that the user started, and
    /// its connection would be lost.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        let stored = try await store.read { try $0.apps() }
        for app in stored.unreadable {
            environment.logger.error(
                "The stored state of an app cannot be read", metadata: ["app": "\(app.id)", "reason": "\(app.reason)"])
        }
        await part.open(AppsState(), hooks) { state, _, now in
            state.begin(unreadable: stored.unreadable, now: now)
            for record in stored.records { adopt(record, &state, now) }
        }
        for id in machines.keys {
            writeClock(id)
            adoptPayloads(of: id)
            publishState(ofAdopted: id)
        }
        environment.entries.removeRemains()
        removeStaleClocks()
        removeStalePayloads()
        reportActivity()
    }

    private func adopt(_ record: AppRecord, _ state: inout AppsState, _ now: ClockReading) {
        var machine = updated(newMachine(record))
        let isAlive = record.process.map { environment.host.adopt(ProcessIdentity($0)) } ?? false
        if isAlive, machine.isManaged {
            let limit = manifest(record.id)?.logLimit ?? AppManifest.defaultLogLimit
            environment.host.keepLog(of: record.id, log: logPath(record.id), limit: limit)
        }
        let hadBegun =
            record.process.map {
                isAlive || !machine.isManaged || environment.host.hadBegun(ProcessIdentity($0), of: record.id)
            } ?? true
        let actions = machine.recover(isAlive: isAlive, hadBegun: hadBegun, now: now)
        state.adopt(machine, actions)
    }

    /// A first command number that is greater than all numbers of earlier runs of the service. It is the time in
    /// microseconds.
    var firstNumber: Int64 { Int64(saturating: now.wallSeconds * 1_000_000) }

    /// Updates the wanted wakes whenever the signal reports a new message or a new row of another source.
    private func follow(_ signal: GrowthSignal, past last: Int64) async {
        var seen = last
        while !Task.isCancelled {
            await signal.wait(past: seen)
            let last = signal.last
            // The message signal also reports progress, which does not wake apps.
            guard last > seen else { continue }
            seen = last
            await updateWantedWakes()
        }
    }

    private func followExits() async {
        for await (process, end) in environment.host.exits { await exited(process, end) }
    }

    /// Gives every app's machine its wanted wakes. Only one update runs at a time. A request during an update causes
    /// another update after it.
    func updateWantedWakes() async {
        // Before `prepare()`, the service does not know which apps run. It could launch an app a second time for wakes
        // that the app already handles. ``run()`` updates the wakes later.
        guard part.isOpen else { return }
        readings.isRequested = true
        guard !readings.isUnderWay else { return }
        readings.isUnderWay = true
        while readings.isRequested, !isStopping {
            readings.isRequested = false
            await readWantedWakes()
        }
        readings.isUnderWay = false
    }

    /// Updates the wanted wakes of an app that may have handled some of them since the last update. No signal reports
    /// that.
    func refreshWantedWakes(of id: AppID) async {
        guard machines[id]?.wanted.isEmpty == false else { return }
        await readWantedWakes(of: id)
    }

    /// Returns when the app's machine has at least the wakes that were in the store at the time of the call.
    func readWantedWakes(of id: AppID) async {
        guard part.isOpen else { return }
        let reading = readings.begin()
        do {
            let wakes = try await store.read { try $0.wantedWakes(of: id) }
            await apply(wakes, to: id, reading)
        } catch {
            environment.logger.error("The store cannot be read", metadata: ["error": "\(error)"])
        }
    }

    private func readWantedWakes() async {
        let reading = readings.begin()
        let wakes: [WantedWake]
        do {
            wakes = try await store.read { try $0.wantedWakes() }
        } catch {
            environment.logger.error("The store cannot be read", metadata: ["error": "\(error)"])
            return
        }
        let byApp = Dictionary(grouping: wakes, by: \.app)
        let waiting = machines.filter { !$0.value.wanted.isEmpty }.map(\.key)
        for id in Set(byApp.keys).union(waiting) where !isStopping {
            await apply(byApp[id] ?? [], to: id, reading)
        }
    }

    /// Applies wanted wakes to an app. Does nothing if they are unchanged and under way.
    ///
    /// - Parameter reading: the number of the read. The result of an older read does not replace that of a newer one.
    private func apply(_ wakes: [WantedWake], to id: AppID, _ reading: Int) async {
        guard !id.isProgram || machines[id] != nil, readings.isNew(reading, of: id) else { return }
        guard machines[id]?.isChanged(by: wakes) ?? true else { return }
        await perform(id) { $0.setWantedWakes(wakes, now: $1) }
    }
}

/// An element of the stream of commands to one process.
package enum ProcessEvent: Hashable, Sendable {
    case hello(ProcessHello)
    case command(ProcessCommand)
    /// The setting of background refresh for the app. Sent after `hello`, and when it changes.
    case refresh(RefreshNotice)
    /// The location permission of the app. Sent after `hello` to an app that has requested location, and when it
    /// changes.
    case location(LocationNotice)
    /// The app's token for remote notifications. Sent after `hello` to an app that has registered, and when it changes.
    case push(PushNotice)
    /// A notice that the service was asked to stop. The app must not start it again unless it has a new request.
    case stopping
}

extension ProcessIdentity {
    init(_ stored: StoredProcess) {
        self.init(pid: stored.processID, startTime: stored.startTime, bootID: stored.bootID)
    }
}

extension StoredProcess {
    init(_ process: ProcessIdentity, isManaged: Bool) {
        self.init(
            processID: process.pid, startTime: process.startTime, bootID: process.bootID, isManaged: isManaged)
    }
}
