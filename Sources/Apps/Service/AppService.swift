package import Clock
import Foundation
package import Logging
package import NightshiftAPI
package import Store

/// The apps of one user: launches, wakes, suspends and ends them, and tells why. Everything the local API offers of them.
///
/// Whatever a method has returned for is on disk, but for what has happened to a process where the disk has failed: that is written
/// when there is room. Every method throws ``Problem`` and nothing else. One ``AppMachine`` for each app decides; this actor
/// carries out.
package actor AppService {
    /// The world as the service needs it.
    package struct Environment: Sendable {
        package var paths: ServicePaths
        package var store: Store
        package var host: any ProcessHost
        package var entries: EntryDirectories
        package var clock: any ServiceClock
        package var transfers: TransferHooks
        package var parts: PartHooks
        /// The environment of the service, of which launched processes find a part in theirs: ``AppEnvironment``.
        package var variables: [String: String]
        /// What the session's manager gives to what it starts, as of now; nil where there is none.
        package var sessionVariables: @Sendable () -> [String: String]?
        package var homeDirectory: String
        /// The umask of launched processes.
        package var fileCreationMask: UInt32
        /// Hears what keeps the device busy, each time that it changes.
        package var activity: @Sendable (AppActivity) -> Void
        package var logger: Logger

        package init(
            paths: ServicePaths, store: Store, host: any ProcessHost, entries: EntryDirectories,
            clock: any ServiceClock, transfers: TransferHooks, parts: PartHooks = PartHooks(),
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

    /// What apps need of the transfers.
    package struct TransferHooks: Sendable {
        /// Ends every task of the app.
        package var forceQuit: @Sendable (AppID) async -> Void
        /// The app came to the front: its tasks may start that were held back because it was in the background. Their rows
        /// say so.
        package var cameToFront: @Sendable (AppID) async -> Void
        /// Whether the app's process can read.
        package var setListening: @Sendable (AppID, Bool) async -> Void
        /// The app has handled the messages of its session up to one.
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
    /// Apps of which what is kept makes no sense. Nothing is done with them, so that nothing is written in place of that.
    var unreadable: [AppID: UnreadableApp] = [:]
    /// Processes that read commands, by their number.
    var connections: [Int32: Connection] = [:]
    var nextConnection = 0
    /// The number of steps of each app that are not on disk yet, and the callers that wait for them.
    var writes: [AppID: PendingWrites] = [:]
    /// Apps that came to the front in a step that could not be written: the next one that can lifts what that was to lift.
    var unlifted: Set<AppID> = []
    var unwritten = UnwrittenSteps()
    /// What users have said of apps' background time since the service began, as their transactions left it.
    var policies: [AppID: StoredValue<BackgroundPolicy?>] = [:]
    /// Ends of wakes that could not be written: the next step of the app that can writes them.
    var unfinished: [AppID: [FinishedWake]] = [:]
    /// The callers that wait for an app's process to be gone.
    var endWaiters: [AppID: [CheckedContinuation<Void, Never>]] = [:]
    /// The next look at the clocks, in awake seconds.
    var alarm = Alarm()
    var isStopping = false
    /// The settings that the user has made for the device.
    var settings = DeviceSettings()
    /// Whether background work runs on the device.
    var phase = DozePhase.awake
    /// The device's conditions when they were last told.
    var lastConditions = DeviceConditions()
    /// The activity that was last reported.
    var activity = AppActivity()
    /// The files from which processes read their background time.
    var clocks: [AppID: ClockFile] = [:]
    var front = Front()
    /// Notifications that apps in front were asked about.
    var presentations: [Presentation.Key: Presentation] = [:]
    /// Apps whose process was given a file with the payloads of its wakes.
    var payloadFiles: Set<AppID> = []
    private var isPrepared = false
    /// What was decided as apps were taken up: done by ``run()``, or before it, ahead of what somebody asks of the app.
    var recovered: [AppID: [AppAction]] = [:]
    private var isUpdatingWakes = false
    private var isUpdateRequested = false
    /// The number of the last reading of wanted wakes, and of the one that each app's machine was given last.
    private var lastReading = 0
    var readings: [AppID: Int] = [:]
    nonisolated let reporting = Mailbox<AppService>()
    /// What the other parts hear of apps.
    nonisolated let partCalls = CallSequence()
    /// What the parts have told the processes of apps last, and the number of the last of all that.
    var tellings: [AppID: [ProcessEvent.NoticeKind: Telling]] = [:]
    var lastTelling = 0
    /// The callers that wait until the parts have heard of an entry, by number.
    var hearings: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastHearing = 0

    struct Connection {
        /// Tells streams of one process apart.
        var number: Int
        /// Tells them apart over every start of the service, too: ``ProcessHello/channel``.
        let name = UUID().uuidString
        var app: AppID
        /// Not the process that the machine is about, but another one of the same app.
        var isGuest: Bool
        /// Not a process of it at all, but who runs the command that the machine is about.
        var isRunner = false
        var continuation: AsyncStream<ProcessEvent>.Continuation
    }

    package init(_ environment: Environment) {
        self.environment = environment
    }

    /// Looks after the apps until ``stop()``. To be called behind ``prepare()``, which has to end before anybody is
    /// answered: it cannot be a part of this.
    package func run() async {
        precondition(isPrepared, "The apps that the last service has left have to be taken up first.")
        environment.logger.info("Apps are suspended by \(environment.host.name)")
        for id in recovered.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if recovered[id] != nil { await execute([], id) }
            // A program without an entry is known only while it runs.
            if id.isProgram, machines[id]?.record.process == nil { machines[id] = nil }
        }
        // Rows that are added during the first update are seen by the next one.
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

    /// Lets everything run that is suspended, and ``run()`` return. The apps live on.
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
        for hearing in hearings.values { hearing.resume() }
        hearings = [:]
        for key in presentations.keys { endPresentation(key, .asSent) }
        reporting.finish()
    }

    nonisolated var now: ClockReading { environment.clock.now() }
    nonisolated var store: Store { environment.store }

    /// Takes up the apps that the last service has left. To be called once, before their processes can connect: who comes
    /// earlier would be taken for one that its user has started, and its connection be forgotten.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
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

    /// Greater than every number that an earlier service can have given: it counts microseconds.
    var firstNumber: Int64 { Int64(saturating: now.wallSeconds * 1_000_000) }

    /// A new message, or a new row of another source, may be a reason to wake somebody.
    private func follow(_ signal: GrowthSignal, past last: Int64) async {
        var seen = last
        while !Task.isCancelled {
            await signal.wait(past: seen)
            let last = signal.last
            // That of messages is also given for progress, which wakes nobody.
            guard last > seen else { continue }
            seen = last
            await updateWantedWakes()
        }
    }

    private func followExits() async {
        for await (process, end) in environment.host.exits { await exited(process, end) }
    }

    /// Gives every app's machine the wakes that are wanted. One update runs at a time, and begins again where it is asked for
    /// meanwhile.
    func updateWantedWakes() async {
        // Before that nobody knows what runs already: whoever is at work would be launched for it a second time. ``run()`` looks.
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

    /// Updates the wanted wakes of an app that may have handled some meanwhile: no signal tells of that.
    func refreshWantedWakes(of id: AppID) async {
        guard machines[id]?.wanted.isEmpty == false else { return }
        await readWantedWakes(of: id)
    }

    /// Returns when an app's machine has been given what the store had after the call.
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

    /// An app whose wakes are under way, and the same as before, costs nothing.
    ///
    /// - Parameter reading: an older one does not undo a newer.
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
    /// Whether the app is refreshed in the background: behind `hello`, and whenever that changes.
    case refresh(RefreshNotice)
    /// Its user's word on location: behind `hello` for an app that has asked, and whenever that changes.
    case location(LocationNotice)
    /// Its token for remote notifications: behind `hello` for an app that has registered, and whenever that changes.
    case push(PushNotice)
    /// The service was asked to stop: it is not to be started again unless something new is wanted of it.
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
