package import Clock
import Foundation
package import Logging
package import NightshiftAPI
package import Store

/// The apps of one user: launches, wakes, suspends and ends them, and reports the reasons. All app operations of the
/// local API are here.
///
/// When a method returns, its effects are on disk. The exception is an event of a process while the disk has failed:
/// that is written when there is room. Every method throws only ``Problem``. One ``AppMachine`` per app decides; this
/// actor executes.
package actor AppService {
    /// The store, clock and other dependencies of the service.
    package struct Environment: Sendable {
        package var paths: ServicePaths
        package var store: Store
        package var host: any ProcessHost
        package var entries: EntryDirectories
        package var clock: any ServiceClock
        package var transfers: TransferHooks
        package var parts: FeatureHooks
        /// The environment of the service. Launched processes get a part of it: ``AppEnvironment``.
        package var variables: [String: String]
        /// Returns the environment that the session's manager gives to the programs that it starts now; nil without
        /// such a manager.
        package var sessionVariables: @Sendable () -> [String: String]?
        package var homeDirectory: String
        /// The umask of launched processes.
        package var fileCreationMask: UInt32
        /// Called with each change of the activity that keeps the device busy.
        package var activity: @Sendable (AppActivity) -> Void
        package var logger: Logger

        package init(
            paths: ServicePaths, store: Store, host: any ProcessHost, entries: EntryDirectories,
            clock: any ServiceClock, transfers: TransferHooks, parts: FeatureHooks = FeatureHooks(),
            variables: [String: String],
            sessionVariables: @escaping @Sendable () -> [String: String]? = { nil }, homeDirectory: String,
            fileCreationMask: UInt32, activity: @escaping @Sendable (AppActivity) -> Void = { _ in }, logger: Logger
        ) {
            self.paths = paths
            self.store = store
            self.host = host
            self.entries = entries
            self.clock = clock
            self.transfers = transfers
            self.parts = parts
            self.variables = variables
            self.sessionVariables = sessionVariables
            self.homeDirectory = homeDirectory
            self.fileCreationMask = fileCreationMask
            self.activity = activity
            self.logger = logger
        }
    }

    /// Calls from apps to the transfers.
    package struct TransferHooks: Sendable {
        /// Cancels every task of the app.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// The app came to the foreground: tasks that were blocked because it was in the background may start. Their
        /// rows are updated already.
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
    var machines = MachineTable()
    /// Apps with unreadable rows. Nothing is done with them, so that their rows are not overwritten.
    var unreadable: [AppID: UnreadableApp] = [:]
    /// Processes with an open command stream, by pid.
    var connections: [Int32: Connection] = [:]
    var nextConnection = 0
    /// The number of steps of each app that are not on disk yet, with the callers that wait for them.
    var writes: [AppID: PendingWrites] = [:]
    /// Apps that came to the foreground in a step that could not be written. The next successful write unblocks their
    /// tasks.
    var unlifted: Set<AppID> = []
    var unwritten = UnwrittenSteps()
    /// The users' settings of background time changed since the start of the service, as their transactions left them.
    var policies: [AppID: StoredValue<BackgroundPolicy?>] = [:]
    /// Ends of wakes that could not be written. The next successful step of the app writes them.
    var unfinished: [AppID: [FinishedWake]] = [:]
    /// The callers that wait for the end of an app's process.
    var endWaiters: [AppID: [CheckedContinuation<Void, Never>]] = [:]
    /// The alarm for the next deadline, in awake seconds.
    var alarm = Alarm()
    var isStopping = false
    /// The user's settings for the device.
    var settings = DeviceSettings()
    /// The phase of doze, which says whether background work runs on the device.
    var phase = DozePhase.awake
    /// The last known device conditions.
    var lastConditions = DeviceConditions()
    /// The activity that was last reported.
    var activity = AppActivity()
    /// The files from which processes read their background time.
    var clocks: [AppID: ClockFile] = [:]
    var front = Front()
    /// Notifications whose presentation apps in the foreground were asked about.
    var presentations: [Presentation.Key: Presentation] = [:]
    /// Apps whose process has a file with the payloads of its wakes.
    var payloadFiles: Set<AppID> = []
    private var isPrepared = false
    /// Actions decided when apps were adopted. They are executed by ``run()``, or earlier, before another input of the
    /// app.
    var recovered: [AppID: [AppAction]] = [:]
    private var isUpdatingWakes = false
    private var isUpdateRequested = false
    /// The number of the last read of wanted wakes. `readings` has the number of the last read that each machine was
    /// given.
    private var lastReading = 0
    var readings: [AppID: Int] = [:]
    nonisolated let reporting = Mailbox<AppService>()
    /// The pending reports about apps to the other features.
    nonisolated let partCalls = CallSequence()
    /// The last notices of features for each app. `lastNoticeNumber` is the number of the newest one.
    var sentNotices: [AppID: [ProcessEvent.NoticeKind: SentNotice]] = [:]
    var lastNoticeNumber = 0
    /// The callers that wait until the features have handled a desktop entry, by number.
    var pendingAcknowledgements: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastAcknowledgement = 0

    struct Connection {
        /// A number that distinguishes the streams of one process.
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
    }

    /// Manages the apps until ``stop()``. ``prepare()`` must have returned before. It is a separate step, because it
    /// must also end before the first request is handled.
    package func run() async {
        precondition(isPrepared, "Call prepare() first, to adopt the apps of the previous run.")
        environment.logger.info("Apps are suspended by \(environment.host.name)")
        for id in recovered.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if recovered[id] != nil { await execute([], id) }
            // A program without a desktop entry is kept only while it runs.
            if id.isProgram, machines[id]?.record.process == nil { machines[id] = nil }
        }
        // Read before the first update, so that rows added during that update cause the next one.
        let (messages, wakes) = (store.messageSignal.last, store.wakeSignal.last)
        await updateWantedWakes()
        await reporting.run(
            by: self,
            beside: [
                { await $0.follow($0.store.messageSignal, past: messages) },
                { await $0.follow($0.store.wakeSignal, past: wakes) },
                { await $0.followExits() },
                { await $0.partCalls.run() },
            ])
    }

    /// Resumes all suspended apps, and lets ``run()`` return. The apps continue to run.
    package func stop() {
        guard !isStopping else { return }
        isStopping = true
        alarm.cancel()
        for connection in connections.values {
            connection.continuation.yield(.stopping)
            connection.continuation.finish()
        }
        environment.host.shutdown()
        for waiter in endWaiters.values.joined() { waiter.resume() }
        endWaiters = [:]
        for hearing in pendingAcknowledgements.values { hearing.resume() }
        pendingAcknowledgements = [:]
        for key in presentations.keys { endPresentation(key, .asSent) }
        reporting.finish()
    }

    nonisolated var now: ClockReading { environment.clock.now() }
    nonisolated var store: Store { environment.store }

    /// Adopts the apps that the previous run of the service has left. Must be called once, before their processes can
    /// connect: a process that connects earlier would be taken for one that the user has started, and its connection
    /// would be lost.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func prepare() async throws(StoreError) {
        let stored = try await store.read { try $0.apps() }
        try await tell(stored.unreadable)
        for record in stored.records {
            machines[record.id] = AppMachine(
                record: record, isInstalled: false, wakeLimit: AppManifest.defaultWakeLimit, firstNumber: firstNumber)
            machines[record.id]?.device = phase
            var machine = machine(record.id)
            let isAlive = record.process.map { environment.host.adopt(ProcessIdentity($0)) } ?? false
            if isAlive, machine.isManaged {
                let limit = manifest(record.id)?.logLimit ?? AppManifest.defaultLogLimit
                environment.host.keepLog(of: record.id, log: logPath(record.id), limit: limit)
            }
            let hadBegun =
                record.process.map {
                    isAlive || !machine.isManaged || environment.host.hadBegun(ProcessIdentity($0), of: record.id)
                } ?? true
            recovered[record.id] = machine.recover(isAlive: isAlive, hadBegun: hadBegun, now: now)
            machines[record.id] = machine
            writeClock(record.id)
            adoptPayloads(of: record.id)
            tellParts(ofAdopted: record.id)
        }
        environment.entries.removeRemains()
        removeStaleClocks()
        removeStalePayloads()
        reportActivity()
        isPrepared = true
    }

    private func tell(_ apps: [UnreadableApp]) async throws(StoreError) {
        guard !apps.isEmpty else { return }
        unreadable = Dictionary(apps.map { ($0.id, $0) }) { $1 }
        for app in apps {
            environment.logger.error(
                "An app cannot be read", metadata: ["app": "\(app.id)", "reason": "\(app.reason)"])
        }
        try await store.write { [now] transaction in
            for app in apps {
                try transaction.record(
                    JournalEntry(time: now.date, decision: .unreadable, app: app.id, detail: app.reason))
            }
        }
    }

    /// A number of a command greater than all that an earlier run of the service can have used: it counts microseconds.
    var firstNumber: Int64 { Int64(saturating: now.wallSeconds * 1_000_000) }

    /// Updates the wanted wakes after each new message or new row of another source.
    private func follow(_ signal: GrowthSignal, past last: Int64) async {
        var seen = last
        while !Task.isCancelled {
            await signal.wait(past: seen)
            let last = signal.last
            // The message signal is also sent for progress, which wakes no app.
            guard last > seen else { continue }
            seen = last
            await updateWantedWakes()
        }
    }

    private func followExits() async {
        for await (process, end) in environment.host.exits { await exited(process, end) }
    }

    /// Gives every app's machine its wanted wakes. Only one update runs at a time; a request during an update starts
    /// another one after it.
    func updateWantedWakes() async {
        // Before that, it is not known which apps run: an app could be launched a second time for the wakes that it
        // handles. ``run()`` updates the wakes later.
        guard isPrepared else { return }
        isUpdateRequested = true
        guard !isUpdatingWakes else { return }
        isUpdatingWakes = true
        while isUpdateRequested, !isStopping {
            isUpdateRequested = false
            await readWantedWakes()
        }
        isUpdatingWakes = false
    }

    /// Updates the wanted wakes of an app that may have handled some in the meantime. No signal reports that.
    func refreshWantedWakes(of id: AppID) async {
        guard machines[id]?.wanted.isEmpty == false else { return }
        await readWantedWakes(of: id)
    }

    /// Returns when the app's machine has at least the wakes that were in the store at the time of the call.
    func readWantedWakes(of id: AppID) async {
        guard isPrepared, !isStopping else { return }
        lastReading += 1
        let reading = lastReading
        do {
            let wakes = try await store.read { try $0.wantedWakes(of: id) }
            await apply(wakes, to: id, reading)
        } catch {
            environment.logger.error("The store cannot be read", metadata: ["error": "\(error)"])
        }
    }

    private func readWantedWakes() async {
        lastReading += 1
        let reading = lastReading
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

    /// Applies wanted wakes to an app. If they are unchanged and under way, nothing is done.
    ///
    /// - Parameter reading: the number of the read; the result of an older read does not replace that of a newer one.
    private func apply(_ wakes: [WantedWake], to id: AppID, _ reading: Int) async {
        guard !id.isProgram || machines[id] != nil, readings[id] ?? 0 < reading else { return }
        readings[id] = reading
        guard machines[id]?.isChanged(by: wakes) ?? true else { return }
        await perform(id) { $0.setWantedWakes(wakes, now: $1) }
    }
}

/// An element of the stream of commands to one process.
package enum ProcessEvent: Hashable, Sendable {
    case hello(ProcessHello)
    case command(ProcessCommand)
    /// Whether background refresh is on for the app. Sent after `hello`, and when it changes.
    case refresh(RefreshNotice)
    /// The location permission. Sent after `hello` to an app that has asked, and when it changes.
    case location(LocationNotice)
    /// The token for remote notifications. Sent after `hello` to an app that has registered, and when it changes.
    case push(PushNotice)
    /// The service was asked to stop: the app must not start it again unless it has a new request.
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
