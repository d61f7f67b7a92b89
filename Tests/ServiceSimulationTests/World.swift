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

/// A whole transfer service in virtual time, with everything around it scripted.
///
/// Time goes on only when ``advance(by:)`` says so, and only while nothing runs any more. After every step the
/// invariants are checked; what breaks one is recorded as an issue, together with the world's seed.
final class World {
    let seed: UInt64
    let directory: TemporaryDirectory
    let paths: ServicePaths
    /// The directory of downloads with a destination: a file system of its own where the seed is odd.
    let downloads: String
    private let mounts: TemporaryDirectory
    private let mountInfo: String
    /// What the device says; each service begins with it and is told of changes by ``tell(_:)``.
    private(set) var moment = DeviceMoment()
    /// What services have said of discretionary work, in order.
    let activity = ActivityRecorder()
    private(set) var clock: ManualClock
    private(set) var transport: ScriptedTransport
    private(set) var store: Store
    private(set) var service: TransferService
    private(set) var commits: CommitGate
    let random: SharedRandom
    var ledger = Ledger()
    /// Whether the service lives on when a commit fails; otherwise time stops there, for it to be crashed.
    var survivesFailedCommits = false
    var inspector = Inspector()
    let requests = RequestRecorder()
    private var running: Task<Void, any Error>?
    /// Services that have died: they are never run again, and never taken apart either, as with a power cut.
    private var graveyard: [(TransferService, Store, ManualClock, ScriptedTransport)] = []
    private var boots = 1
    private var failures: Set<String> = []

    /// - Parameter bootID: the real one where real processes take part.
    init(seed: UInt64 = 1, jitter: Double? = nil, bootID: String = "boot-1") throws {
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
        // Services keep it open, and tests count what is open in the world's own directory.
        mounts = try TemporaryDirectory(in: parent)
        mountInfo = mounts.path("mountinfo")
        try Self.mounts(downloads: seed.isMultiple(of: 2) ? nil : downloads)
            .write(toFile: mountInfo, atomically: false, encoding: .utf8)
        service = Self.makeService(paths, mountInfo, store, transport, clock, moment, activity, random)
        transport.setObserver { [requests] in requests.note($0, $1) }
    }

    /// The mounts as services see them.
    ///
    /// - Parameter downloads: a directory that is a file system of its own.
    private static func mounts(downloads: String?) -> String {
        let root = "1 0 0:1 / / rw - tmpfs root rw\n"
        return root + (downloads.map { "2 1 0:2 / \($0) rw - tmpfs downloads rw\n" } ?? "")
    }

    private static func makeService(
        _ paths: ServicePaths, _ mountInfo: String, _ store: Store, _ transport: ScriptedTransport,
        _ clock: ManualClock,
        _ moment: DeviceMoment, _ activity: ActivityRecorder, _ random: SharedRandom
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

    /// Stops the service in order.
    func stop() async throws {
        await call { [service] in await service.stop() }
        try await running?.value
        running = nil
        try store.close()
    }

    /// A new service on what the last one left.
    func boot() async throws {
        store = try Store(paths: paths, now: clock.now())
        commits = CommitGate()
        store.add(transactionObserver: commits)
        service = Self.makeService(paths, mountInfo, store, transport, clock, moment, activity, random)
        transport.setObserver { [requests] in requests.note($0, $1) }
        await start()
        await inspect()
    }

    /// A new service where the last one could not even begin.
    func bootAnew() async throws {
        try? await running?.value
        try store.close()
        replaceClock(off: nil)
        try await boot()
    }

    /// Stops in order, and starts again in another boot where `off` is given.
    func restart(off seconds: Double? = nil) async throws {
        try await stop()
        replaceClock(off: seconds)
        try await boot()
    }

    /// The process dies: nothing that it holds in memory is left.
    func crash() async throws {
        commits.shut()
        // What the object of the dead process still does is not written any more.
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

    /// The machine loses power: what was not synced may be gone or be anything.
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

    /// A process that dies closes its files.
    private func closeLeftDescriptors() {
        for (descriptor, path) in OpenFiles.all() where path.hasPrefix(directory.path) { close(descriptor) }
    }

    /// Lets the device say something else; a service that runs hears of it.
    func change(_ change: (inout DeviceMoment) -> Void) async {
        change(&moment)
        guard running != nil, !isDying else { return }
        await call { [service, moment] in await service.apply(moment) }
    }

    // MARK: Time

    /// Waits until nothing happens any more at this moment.
    func settle() async {
        while true {
            await ProcessQuiescence.wait()
            guard let step = transport.nextStep, step <= clock.now().bootSeconds else { break }
            transport.runDue()
        }
    }

    /// The next moment at which something happens by itself; nil when nothing ever will.
    var nextEvent: Double? {
        [clock.nextWaking, transport.nextStep].compactMap(\.self).min()
    }

    /// Lets time go on, event by event, and checks the invariants after each.
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

    /// Lets time go on until `condition` holds; false when it does not within `seconds`.
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

    /// Calls the service as a client does, and lets happen what has to until it answers.
    ///
    /// - Returns: nil when the service died in the meantime.
    @discardableResult
    func call<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value? {
        let answer = Answer<Value>()
        Task { answer.value = await body() }
        await settle()
        var patience = 500
        while answer.value == nil, !isDying, patience > 0, let next = nextEvent {
            patience -= 1
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
        // The same again and again says nothing new.
        guard failures.count < 10, failures.insert(comment).inserted else { return }
        Issue.record("seed \(seed), at \(now.bootSeconds) (\(now.bootID)): \(comment)")
    }

    func inspect() async {
        await inspector.inspect(self)
    }
}

/// What a call that is under way hands over.
private final class Answer<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
