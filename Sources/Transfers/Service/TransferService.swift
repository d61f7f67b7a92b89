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

    /// The network settings of tasks that have none of their own.
    package struct NetworkFallback: Sendable {
        package var proxy: String?
        /// The proxy variables of the service, which are used if ``proxy`` is nil.
        package var proxyVariables: ProxyVariables
        package var tls: TLSSettings?

        package init(proxy: String? = nil, proxyVariables: ProxyVariables = .none, tls: TLSSettings? = nil) {
            self.proxy = proxy
            self.proxyVariables = proxy == nil ? proxyVariables : .none
            self.tls = tls
        }

        /// Returns the proxy for a URL; empty or nil for no proxy.
        package func proxy(for url: String) -> String? { proxy ?? proxyVariables.proxy(for: url) }

        /// The names of the environment variables that set the proxies.
        package var variables: [String] {
            proxy == nil ? proxyVariables.hasProxy ? proxyVariables.names : [] : ["NIGHTSHIFT_PROXY"]
        }
    }

    nonisolated let environment: Environment
    nonisolated let files: TransferFiles
    var life: ServiceLife

    /// The running transfers.
    var active: [TaskID: ActiveTransfer] = [:]
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
    /// The abandoned exchanges. They end when the file system that they write to responds.
    var leftExchanges: [LeftExchange] = []
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
            paths: environment.paths, run: Self.newToken(), mode: fileMode, bootID: now.bootID, systems: systems)
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
        for id in active.keys { interrupt(id, .starting) }
        for id in active.keys { await quiet(id) }
        // A task on a slow file system is left to the next run of the service. The task's row shows its progress.
        for id in finishing.tasks where fileSystem(ofFinishing: id) == nil { await quiet(id) }
        await waitForOtherFileSystems()
        fileSystems.giveUp()
        timers.cancel()
        reporting.finish()
        starts.close()
    }

    var isStopping: Bool { life.isStopping }

    /// The log of running work, for the next run of the service after a crash.
    package nonisolated var starts: StartLog { files.starts }
    nonisolated var partials: PartialStorage { files.partials }
    nonisolated var sources: SourceCopies { files.sources }
    nonisolated var publisher: Publisher { files.publisher }
    nonisolated var disks: Disks { files.disks }
    nonisolated var fileSystems: FileSystems { files.systems }
    nonisolated var now: ClockReading { environment.clock.now() }
    nonisolated var store: Store { environment.store }
    nonisolated var logger: Logger { environment.logger }

    private func followWallClock() async {
        // Begin dates are wall-clock times, so a change of the clock may bring them closer.
        for await _ in environment.clock.wallClockChanges() { await schedule() }
    }
}
