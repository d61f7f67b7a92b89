package import Clock
import Foundation
import Glibc
package import Logging
package import NightshiftAPI
import Scheduler
package import Store

/// The transfers of one user: accepts tasks, carries them out, explains them. Everything the local API offers.
///
/// Whatever a method has returned for is on disk. Every method throws ``Problem`` and nothing else. The rows of the store
/// are the truth; this actor holds only what runs. See `docs/architecture.md` for the life of a download.
package actor TransferService {
    /// The world as the service needs it.
    package struct Environment: Sendable {
        package var paths: ServicePaths
        package var store: Store
        package var transport: any Transport
        package var clock: any ServiceClock
        /// What the device says when the service begins; ``TransferService/apply(_:)`` tells what changes.
        package var moment: DeviceMoment
        /// Hears when the first task that waits for a good moment may run, and when the last one no longer does.
        package var activity: @Sendable (TransferActivity) -> Void
        package var fallback: NetworkFallback
        /// 0..<1, for jitter.
        package var random: @Sendable () -> Double
        package var logger: Logger

        package init(
            paths: ServicePaths, store: Store, transport: any Transport, clock: any ServiceClock, moment: DeviceMoment,
            activity: @escaping @Sendable (TransferActivity) -> Void = { _ in },
            fallback: NetworkFallback = NetworkFallback(), random: @escaping @Sendable () -> Double, logger: Logger
        ) {
            self.paths = paths
            self.store = store
            self.transport = transport
            self.clock = clock
            self.moment = moment
            self.activity = activity
            self.fallback = fallback
            self.random = random
            self.logger = logger
        }
    }

    /// For tasks that say nothing of it themselves.
    package struct NetworkFallback: Sendable {
        package var proxy: String?
        package var tls: TLSSettings?

        package init(proxy: String? = nil, tls: TLSSettings? = nil) {
            self.proxy = proxy
            self.tls = tls
        }
    }

    /// Transfers at once unless set otherwise: enough for several hosts, few enough for a phone.
    package static let defaultMaximumTransfers = 32

    nonisolated let environment: Environment
    nonisolated let partials: PartialStorage
    nonisolated let sources: SourceCopies
    let publisher: Publisher
    /// What is under way, for whoever comes after a fault.
    package nonisolated let starts: StartLog
    let startedAt: ClockReading

    // What runs.
    var active: [TaskID: ActiveTransfer] = [:]
    /// Admitted, their records being read.
    var starting: Set<TaskID> = []
    /// Their bytes are all here.
    var finishing: Set<TaskID> = []
    var finishQueue: [Publisher.Job] = []
    var isDraining = false
    /// Whether rows that say 'finishing' will be looked at again after a while.
    var settlesSoon = false
    /// Whether they are looked at when the suspects of a fault have been tried.
    var settlesAfterTrials = false
    /// Tasks that a request of the API is changing: they are not started meanwhile. Counted.
    var held: [TaskID: Int] = [:]
    /// Who waits for a task to be neither active nor finishing.
    var quietWaiters: [TaskID: [CheckedContinuation<Void, Never>]] = [:]

    // Sessions of apps.
    /// Who reads a session's messages.
    var readers: [SessionID: WeakReader] = [:]
    /// Apps that are suspended and read nothing.
    var suspendedApps: Set<AppID> = []
    /// What apps have answered to servers.
    var answers: [SessionID: ChallengeAnswers] = [:]

    // What decides over starting.
    /// Which tasks have to show that they do not take the service down.
    var trials = StartTrials()
    /// The lanes as the last decision saw them, to explain it.
    var latestLanes: [LaneID: Admission.Lane] = [:]
    /// What is known against origins, ways and proxies.
    var hosts = HostTable()
    /// Whose turn it is where there is but one connection.
    var turns = ConnectionTurns<LaneID>()
    /// How many connections origins were seen to take.
    var hostConnections: [String: HostConnections] = [:]
    /// Connections for tasks that are about to start.
    var laneReserve: [LaneID: Int] = [:]
    var moment: DeviceMoment
    /// What the moment holds back, as the last decision found it, to say since when.
    var heldClasses = HeldClasses()
    var activity = TransferActivity()
    var rateLimit: Int64?
    var maximumTransfers = TransferService.defaultMaximumTransfers
    /// Boot seconds until which nothing starts because the store cannot be written.
    var storePausedUntil: Double?

    // Uploads.
    /// How origins take uploads, where they have shown it; by scheme, host and port.
    var uploadManners: [String: UploadProtocol] = [:]
    /// Requests under way that tell servers to forget an upload.
    var farewells = 0

    /// Writes down attempts that last a while.
    var attemptNotes: Task<Void, Never>?

    // The loop.
    /// Whether everything that the last service left has been looked at.
    private(set) var isRunning = false
    var isStopping = false
    var isPumping = false
    var pumpRequested = false
    var alarm = Alarm()
    var ticker: Task<Void, Never>?
    nonisolated let reporting = Mailbox<TransferService>()

    // Where blocking work is done.
    let syncDisk = DiskQueue("nightshift.sync")
    let finishDisk = DiskQueue("nightshift.finish")
    let hashDisk = DiskQueue("nightshift.hash")
    let removalDisk = DiskQueue("nightshift.removal")
    nonisolated let copyDisk = DiskQueue("nightshift.copy")
    /// 1 from the moment the service stops: long work on disks looks at it.
    let stopping = ByteMeter(0)

    /// - Parameter fileMode: the mode of finished files.
    package init(_ environment: Environment, fileMode: UInt32 = 0o644) {
        self.environment = environment
        partials = PartialStorage(paths: environment.paths)
        sources = SourceCopies(paths: environment.paths, run: Self.newToken())
        publisher = Publisher(paths: environment.paths, partials: partials, mode: fileMode)
        startedAt = environment.clock.now()
        starts = StartLog(path: environment.paths.starts.path, bootID: startedAt.bootID)
        moment = environment.moment
    }

    /// Carries transfers on until ``stop()``.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
    package func run() async throws(StoreError) {
        try await recover()
        isRunning = true
        await pump()
        await reporting.run(by: self, beside: [{ await $0.followWallClock() }])
    }

    /// Ends all exchanges, keeps what they brought, and lets ``run()`` return.
    package func stop() async {
        guard !isStopping else { return }
        isStopping = true
        stopping.value = 1
        alarm.cancel()
        _ = try? await environment.store.write { [now = now] transaction in
            try transaction.putClock(now)
            try transaction.record(JournalEntry(time: now.date, decision: .serviceStopping))
        }
        for id in active.keys { interrupt(id, .starting) }
        for id in active.keys { await quiet(id) }
        for id in finishing { await quiet(id) }
        ticker?.cancel()
        attemptNotes?.cancel()
        reporting.finish()
        starts.close()
    }

    nonisolated var now: ClockReading { environment.clock.now() }
    nonisolated var store: Store { environment.store }
    nonisolated var logger: Logger { environment.logger }

    private func followWallClock() async {
        // Begin dates are times of the wall clock: they may have come nearer.
        for await _ in environment.clock.wallClockChanges() { await pump() }
    }
}
