package import Clock
import Foundation
import Glibc
package import Logging
import Mounts
package import NightshiftAPI
import Scheduler
import Sessions
package import Store

/// The transfers of one user. This actor accepts transfers, executes and explains them, and implements the transfer
/// routes of the local API.
///
/// When a method returns, its changes are on disk. Methods throw only ``Problem``. The rows of the store are
/// authoritative; this actor keeps only running transfers in memory. See `docs/architecture.md` for the life of a
/// download.
package actor TransferService {
    /// The dependencies of the service.
    package struct Environment: Sendable {
        package var paths: ServicePaths
        package var store: Store
        package var transport: any Transport
        package var clock: any ServiceClock
        /// The device state when the service starts; ``TransferService/apply(_:)`` receives changes.
        package var moment: DeviceState
        /// A function that is called when the first discretionary task may run, and when the last one no longer may.
        package var activity: @Sendable (TransferActivity) -> Void
        package var fallback: NetworkFallback
        /// A function that returns numbers in 0..<1, for jitter.
        package var random: @Sendable () -> Double
        package var logger: Logger
        /// A file in the format of proc_pid_mountinfo(5), which lists the file systems.
        package var mountInfo = "/proc/self/mountinfo"

        package init(
            paths: ServicePaths, store: Store, transport: any Transport, clock: any ServiceClock, moment: DeviceState,
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

    nonisolated let environment: Environment
    nonisolated let files: TransferFiles
    var life: ServiceLife

    /// The running transfers.
    var active: [TaskID: ActiveTransfer] = [:]
    /// The number of attempts since the start of the service, which is also the number of the latest one.
    var attempts = 0
    /// The tasks that are about to be started or changed, and the callers waiting until a task is idle.
    var claims = TaskClaims()
    /// The downloads whose bytes have all arrived.
    var finishing = FinishQueue<Publisher.Job>(batch: 256)

    /// The readers of app sessions, and the answers that apps have given.
    var appSessions = SessionTable<StoredEventReader<SessionEvent>>()

    var admissions = Admissions()
    /// The known state of origins, routes and proxies.
    var hosts = HostTable()
    var bounds: ServiceBounds
    var timers = Timers()
    /// A queue of work for the actor, from receivers and other callers.
    nonisolated let reporting: Mailbox<TransferService>
    var left = LeftExchanges()
    /// The downloads that are being synced on other file systems.
    var checkpoints: Set<TaskID> = []
    /// The file systems whose transport threads were checked and have not responded yet.
    var awaitedThreads: Set<FileSystemKey> = []

    /// Delayed and repeated work.
    struct Timers {
        /// The alarm for the next change that depends on time.
        var alarm = Alarm()
        /// The task that does the work of every second while transfers run.
        var ticker: Task<Void, Never>?
        /// The task that commits attempts that have lasted a while.
        var attemptNotes: Task<Void, Never>?
        /// The task that checks for file system calls without a response, while there are any.
        var silence: Task<Void, Never>?
        /// The task that commits recent starts of transfers.
        var startNotes: Task<Void, Never>?

        func cancel() {
            ticker?.cancel()
            silence?.cancel()
            attemptNotes?.cancel()
            startNotes?.cancel()
        }
    }

    /// Creates the service.
    ///
    /// - Parameter fileMode: the mode of finished files.
    package init(_ environment: Environment, fileMode: UInt32 = 0o644) {
        self.environment = environment
        let now = environment.clock.now()
        let reporting = Mailbox<TransferService>()
        self.reporting = reporting
        let clock = environment.clock
        let systems = FileSystems(
            home: environment.paths.state.path, mountInfo: environment.mountInfo, now: { clock.now().bootSeconds },
            changed: { change in reporting.yield { await $0.fileSystemsChanged(change) } })
        files = TransferFiles(
            paths: environment.paths, run: Self.newToken(), mode: fileMode, clock: clock, systems: systems)
        life = ServiceLife(startedAt: now)
        bounds = ServiceBounds(environment.moment)
    }

    /// Runs transfers until ``stop()``. ``prepare()`` must be called first.
    ///
    /// - Throws: ``StoreError`` if the stored state cannot be read.
    package func run() async throws(StoreError) {
        try await recover()
        life.begin()
        await schedule()
        await reporting.run(by: self, beside: [{ await $0.followWallClock() }])
    }

    /// Ends all exchanges, keeps their bytes, and lets ``run()`` return.
    package func stop() async {
        guard life.stop() else { return }
        files.disks.stopping.value = 1
        timers.alarm.cancel()
        _ = try? await environment.store.write { [now = now] transaction in
            try transaction.putClock(now)
            try transaction.record(JournalEntry(time: now.date, decision: .serviceStopping))
        }
        for id in active.keys { interrupt(id) }
        for id in active.keys { await quiet(id) }
        // A task on a slow file system is left to the next run of the service. The task's row shows its progress.
        for id in finishing.tasks where finishing.place(of: id) == nil { await quiet(id) }
        await waitForOtherFileSystems()
        fileSystems.giveUp()
        timers.cancel()
        reporting.finish()
        starts.close()
    }

    var isStopping: Bool { life.isStopping }

    /// The log of running work, for the next run of the service after a crash.
    package nonisolated var starts: StartLog { files.starts }
    /// The acceptance of new tasks.
    nonisolated var intake: TaskIntake {
        TaskIntake(store: store, files: files) { await self.heldFromTheFirst($0, $1) }
    }
    nonisolated var fileSystems: FileSystems { files.systems }
    nonisolated var now: ClockReading { environment.clock.now() }
    nonisolated var store: Store { environment.store }
    nonisolated var logger: Logger { environment.logger }

    static func newToken() -> String {
        UUID().uuidString.lowercased().filter { $0 != "-" }
    }

    private func followWallClock() async {
        // Begin dates are wall-clock times, so a change of the clock may bring them closer.
        for await _ in environment.clock.wallClockChanges() { await schedule() }
    }

    // MARK: - Start

    /// Loads the user's settings and records the start of the service. Must be called once, before ``run()`` and before
    /// the first request is answered. Otherwise that request would use other settings, and its journal entry would
    /// precede the start.
    ///
    /// - Throws: ``StoreError`` if the rows cannot be read.
    package func prepare() async throws(StoreError) {
        let (limits, order) = try await store.write { [now = now] transaction in
            if try transaction.sessionSettings(.terminal) == nil {
                try transaction.putSession(.terminal, SessionSettings())
            }
            try transaction.deleteEmptyLanes()
            try transaction.record(JournalEntry(time: now.date, decision: .serviceStarted))
            return (try transaction.limits(), try transaction.order())
        }
        apply(limits, order)
    }

    /// Continues the work of the previous run of the service, even if that run crashed or was killed.
    ///
    /// - Throws: ``StoreError`` if the rows cannot be read.
    private func recover() async throws(StoreError) {
        try await store.reportUnreadableSessions(now, logger)
        try await examineStarts()
        try await settleFinishing()
        try await forgetOldTasks()
        try await files.removeOrphans(store)
        try await files.removeHandledFiles(store)
        try await files.removeUnusedCopies(store)
    }

    /// Deletes tasks that ended a month ago, so that the list does not grow without limit. The month is the time that
    /// the service has seen pass, so a wrong wall clock does not cause deletions.
    private func forgetOldTasks() async throws(StoreError) {
        while true {
            let old = try await store.read { [now = now] transaction in
                try transaction.forgettableTasks(endedFor: Self.history, now: now, limit: 1_000)
            }
            guard !old.isEmpty else { return }
            try await store.write { transaction in
                for record in old { try transaction.delete(record.id) }
            }
            await files.remove(of: old)
        }
    }

    /// The retention time of ended tasks, in seconds.
    private static let history: Double = 30 * 86_400
}
