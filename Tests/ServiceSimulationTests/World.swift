import Clock
import Foundation
import GRDB
import Logging
import NightshiftAPI
import SimulationSupport
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// A whole transfer service in virtual time, with a scripted environment.
///
/// Time advances only in ``advance(by:)``, and only while the service is idle. The invariants are checked after every
/// step. A violation is recorded as an issue, together with the world's seed.
final class World {
    let seed: UInt64
    let directory: TemporaryDirectory
    let paths: ServicePaths
    /// The directory of downloads that have a destination. It is on a separate file system if the seed is odd.
    let downloads: String
    private let mounts: TemporaryDirectory
    private let mountInfo: String
    /// The device state. Each service starts with this state, and ``tell(_:)`` notifies a service of changes.
    private(set) var moment = DeviceState()
    /// The services' reports of discretionary work, in order.
    let activity = ActivityRecorder()
    private(set) var clock: ManualClock
    private(set) var transport: ScriptedTransport
    private(set) var store: Store
    private(set) var service: TransferService
    private(set) var commits: CommitGate
    let random: SharedRandom
    var ledger = Ledger()
    /// Whether the service continues when a commit fails. Otherwise the time stops there, so that a test can crash the
    /// service.
    var survivesFailedCommits = false
    var inspector = Inspector()
    let requests = RequestRecorder()
    private var running: Task<Void, any Error>?
    /// The services that have crashed. As after a power cut, they never run again and are never deinitialized.
    private var graveyard: [(TransferService, Store, ManualClock, ScriptedTransport)] = []
    private var boots = 1
    private var failures: Set<String> = []

    /// - Parameter bootID: the machine's real boot ID in tests with real processes.
    init(seed: UInt64 = 1, jitter: Double? = nil, bootID: String = "boot-1") throws {
        ProcessQuiescence.begin()
        self.seed = seed
        let parent = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : nil
        directory = try TemporaryDirectory(in: parent)
        paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path("home")], homeDirectory: URL(filePath: "/"))
        downloads = directory.path("downloads")
        for path in [paths.state, paths.partials, paths.files, paths.sources].map(\.path) + [downloads] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        random = SharedRandom(seed: seed, jitter: jitter)
        clock = ManualClock(ClockReading(bootID: bootID, bootSeconds: 1_000, wallSeconds: 1_800_000_000))
        transport = ScriptedTransport(clock: clock, seed: seed)
        commits = CommitGate()
        store = try Store(paths: paths, now: clock.now())
        store.add(transactionObserver: commits)
        // Services keep this file open, and tests count the open files below the world's own directory.
        mounts = try TemporaryDirectory(in: parent)
        mountInfo = mounts.path("mountinfo")
        try Self.mounts(downloads: seed.isMultiple(of: 2) ? nil : downloads)
            .write(toFile: mountInfo, atomically: false, encoding: .utf8)
        service = Self.makeService(paths, mountInfo, store, transport, clock, moment, activity, random)
        transport.setObserver { [requests] in requests.note($0, $1) }
    }

    /// The mount table that services read.
    ///
    /// - Parameter downloads: a directory that is a separate file system.
    private static func mounts(downloads: String?) -> String {
        let root = "1 0 0:1 / / rw - tmpfs root rw\n"
        return root + (downloads.map { "2 1 0:2 / \($0) rw - tmpfs downloads rw\n" } ?? "")
    }

    private static func makeService(
        _ paths: ServicePaths, _ mountInfo: String, _ store: Store, _ transport: ScriptedTransport,
        _ clock: ManualClock,
        _ moment: DeviceState, _ activity: ActivityRecorder, _ random: SharedRandom
    ) -> TransferService {
        var logger = Logger(label: "simulation")
        logger.logLevel = .critical
        var environment = TransferService.Environment(
            paths: paths, store: store, transport: transport, clock: clock, moment: moment,
            activity: { activity.note($0) }, random: { random.jitter() }, logger: logger)
        environment.mountInfo = mountInfo
        return TransferService(environment)
    }

    var now: ClockReading { clock.now() }
    private var isDying: Bool { commits.hasFailed && !survivesFailedCommits }

    // MARK: Running

    func start() async {
        let service = service
        running = Task {
            try await service.prepare()
            try await service.run()
        }
        await settle()
    }

    /// Stops the service gracefully.
    func stop() async throws {
        await call { [service] in await service.stop() }
        try await running?.value
        running = nil
        try store.close()
    }

    /// Starts a new service with the state that the last one left.
    func boot() async throws {
        store = try Store(paths: paths, now: clock.now())
        commits = CommitGate()
        store.add(transactionObserver: commits)
        service = Self.makeService(paths, mountInfo, store, transport, clock, moment, activity, random)
        transport.setObserver { [requests] in requests.note($0, $1) }
        await start()
        await inspect()
    }

    /// Starts a new service after the last one failed to start.
    func bootAnew() async throws {
        try? await running?.value
        try store.close()
        replaceClock(off: nil)
        try await boot()
    }

    /// Stops the service gracefully and starts it again. If `off` is given, the service starts in another boot.
    func restart(off seconds: Double? = nil) async throws {
        try await stop()
        replaceClock(off: seconds)
        try await boot()
    }

    /// Crashes the process, which loses everything in its memory.
    func crash() async throws {
        commits.shut()
        // The object of the dead process must no longer write.
        service.starts.close()
        clock.halt()
        let old = (service, store, clock, transport)
        replaceClock(off: nil)
        await ProcessQuiescence.wait()
        try old.1.close()
        closeLeftDescriptors()
        graveyard.append(old)
        running = nil
    }

    /// Cuts the machine's power. Bytes that were not synced may be missing or arbitrary.
    func cutPower(off seconds: Double) async throws {
        try await crash()
        replaceClock(off: seconds)
        try PowerCut(paths: paths, random: random).harm()
    }

    private func replaceClock(off seconds: Double?) {
        if let seconds {
            boots += 1
            clock = clock.afterReboot(bootID: "boot-\(boots)", off: seconds)
        } else {
            clock = clock.afterCrash()
        }
        transport = transport.successor(clock: clock)
    }

    /// Closes the files of a process that died.
    private func closeLeftDescriptors() {
        for (descriptor, path) in OpenFiles.all() where path.hasPrefix(directory.path) { close(descriptor) }
    }

    /// Changes the device state, and notifies a service that runs.
    func change(_ change: (inout DeviceState) -> Void) async {
        change(&moment)
        guard running != nil, !isDying else { return }
        await call { [service, moment] in await service.apply(moment) }
    }

    // MARK: Time

    /// Waits until the service has done all its work at the current time.
    func settle() async {
        while true {
            await ProcessQuiescence.wait()
            guard let step = transport.nextStep, step <= clock.now().bootSeconds else { break }
            transport.runDue()
        }
    }

    /// The time of the next event, or nil if no event is scheduled.
    var nextEvent: Double? {
        [clock.nextWaking, transport.nextStep].compactMap(\.self).min()
    }

    /// Advances the time event by event, and checks the invariants after each one.
    func advance(by seconds: Double, inspecting: Bool = true) async {
        let end = clock.now().bootSeconds + seconds
        await settle()
        while let next = nextEvent, next <= end, !isDying {
            clock.advance(to: max(next, clock.now().bootSeconds))
            transport.runDue()
            await settle()
            if inspecting, !isDying { await inspect() }
        }
        if !isDying { clock.advance(to: end) }
        await settle()
    }

    /// Advances the time until `condition` holds. Returns false if the condition does not hold within `seconds`.
    @discardableResult
    func advance(atMost seconds: Double, until condition: () -> Bool) async -> Bool {
        let end = clock.now().bootSeconds + seconds
        await settle()
        while true {
            if condition() { return true }
            guard let next = nextEvent, next <= end else { return false }
            clock.advance(to: max(next, clock.now().bootSeconds))
            transport.runDue()
            await settle()
            await inspect()
        }
    }

    /// Calls the service as a client does, and lets other work run until the call returns.
    ///
    /// - Returns: nil if the service died in the meantime.
    @discardableResult
    func call<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
        let answer = Answer<Value>()
        Task { answer.value = await body() }
        await settle()
        var timeout = 500
        while answer.value == nil, !isDying, timeout > 0, let next = nextEvent {
            timeout -= 1
            clock.advance(to: max(next, clock.now().bootSeconds))
            transport.runDue()
            await settle()
        }
        if answer.value == nil, !isDying {
            fail("A call was not answered; the next event is \(nextEvent.map { "at \($0)" } ?? "none").")
        }
        return answer.value
    }

    // MARK: Findings

    func fail(_ comment: String) {
        // A repeated failure adds no information, so it is not recorded.
        guard failures.count < 10, failures.insert(comment).inserted else { return }
        Issue.record("seed \(seed), at \(now.bootSeconds) (\(now.bootID)): \(comment)")
    }

    func inspect() async {
        await inspector.inspect(self)
    }
}

/// The result of a call that is still running.
private final class Answer<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
