package import Clock
import Foundation
import Glibc
package import Logging
import Mounts
package import NightshiftAPI
import Scheduler
import Sessions
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
        /// A file in the format of proc_pid_mountinfo(5), which tells the file systems apart.
        package var mountInfo = "/proc/self/mountinfo"

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
        /// The proxy variables of the service, where ``proxy`` is nil.
        package var proxyVariables: ProxyVariables
        package var tls: TLSSettings?

        package init(proxy: String? = nil, proxyVariables: ProxyVariables = .none, tls: TLSSettings? = nil) {
            self.proxy = proxy
            self.proxyVariables = proxy == nil ? proxyVariables : .none
            self.tls = tls
        }

        /// The proxy for a URL; empty, or nil, for none.
        package func proxy(for url: String) -> String? { proxy ?? proxyVariables.proxy(for: url) }

        /// The names of the variables from which the proxies come.
        package var variables: [String] {
            proxy == nil ? proxyVariables.hasProxy ? proxyVariables.names : [] : ["NIGHTSHIFT_PROXY"]
        }
    }

    nonisolated let environment: Environment
    nonisolated let files: TransferFiles
    var life: ServiceLife

    /// What runs.
    var active: [TaskID: ActiveTransfer] = [:]
    /// What somebody is about to start or to change, and who waits for nothing to run.
    var claims = TaskClaims()
    /// What has all its bytes.
    var finishing = FinishQueue<Publisher.Job>(batch: 256)

    /// Who reads for apps, and what these have answered.
    var appSessions = SessionTable<EventReader<SessionEvent>>()

    var admissions = Admissions()
    /// What is known of origins, ways and proxies.
    var hosts = HostTable()
    var bounds: ServiceBounds
    var timers = Timers()
    /// What receivers and others want done on the actor.
    nonisolated let reporting: Mailbox<TransferService>
    /// Exchanges that nobody waits for: they end when the file system answers that they write to.
    var leftExchanges: [LeftExchange] = []
    /// Downloads whose bytes are being synced on another file system.
    var checkpoints: Set<TaskID> = []
    /// Threads of the transport that were asked for a sign of life and have not given it yet.
    var awaitedThreads: Set<FileSystemKey> = []

    /// Work that waits for its time.
    struct Timers {
        /// The next change that time brings to what waits.
        var alarm = Alarm()
        /// What is done every second while something runs.
        var ticker: Task<Void, Never>?
        /// Writes down attempts that last a while.
        var attemptNotes: Task<Void, Never>?
        /// Looks for calls that are not answered, while there are any.
        var silence: Task<Void, Never>?
        /// Tells of transfers that have begun a moment ago.
        var startNotes: Task<Void, Never>?

        func cancel() {
            ticker?.cancel()
            silence?.cancel()
            attemptNotes?.cancel()
            startNotes?.cancel()
        }
    }

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

    /// Carries transfers on until ``stop()``. ``prepare()`` comes first.
    ///
    /// - Throws: ``StoreError`` when the state that is there cannot be read.
    package func run() async throws(StoreError) {
        try await recover()
        life.begin()
        await pump()
        await reporting.run(by: self, beside: [{ await $0.followWallClock() }])
    }

    /// Ends all exchanges, keeps what they brought, and lets ``run()`` return.
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
        // What another file system holds up is left to the next service: its row says how far it is.
        for id in finishing.tasks where fileSystem(ofFinishing: id) == nil { await quiet(id) }
        await waitForOtherFileSystems()
        fileSystems.giveUp()
        timers.cancel()
        reporting.finish()
        starts.close()
    }

    var isStopping: Bool { life.isStopping }

    /// What is under way, for whoever comes after a fault.
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
        // Begin dates are times of the wall clock: they may have come nearer.
        for await _ in environment.clock.wallClockChanges() { await pump() }
    }
}
