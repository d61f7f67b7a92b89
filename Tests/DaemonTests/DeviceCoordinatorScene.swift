import Apps
import Device
import Foundation
import NightshiftAPI
import Scheduler
import SimulationSupport
import Store
import TestSupport

@testable import Daemon

/// A device coordinator with a scripted device, a store in memory and manual clocks.
struct DeviceCoordinatorScene: Sendable {
    let clock: ManualClock
    let store: Store
    let monitor: DeviceMonitor
    let conductor: DeviceCoordinator
    let log: RecordedLog
    var receivers = DeviceCoordinator.Receivers()
    private let directory: TemporaryDirectory

    /// The boot time at the start of a scene.
    static let start: Double = 1_000
    /// The conditions of a device that nobody uses and that has no external power. It dozes after
    /// ``DozeMachine/quietTime``.
    static let leftAlone = #""power": "battery", "battery": 80, "idle": true"#
    static let app = AppID(rawValue: "org.example.App")

    /// - Parameter device: the conditions of the device, in the syntax of a trace. With `bus`, the services on that bus
    ///   report the conditions.
    init(
        _ device: String = leftAlone, clock: ManualClock? = nil, store: Store? = nil, bus: PrivateBus? = nil
    ) throws {
        let clock =
            clock
            ?? ManualClock(ClockReading(bootID: "boot", bootSeconds: Self.start, wallSeconds: 1_800_000_000))
        self.clock = clock
        self.store = try store ?? Store(inMemory: clock.now())
        directory = try TemporaryDirectory()
        let trace = try directory.write(#"{"at": 0, "device": {\#(device)}}"# + "\n", to: "trace")
        monitor = try DeviceMonitor(
            bus.map { .system(address: $0.address) } ?? .trace(path: trace), freeSpaceOf: directory.path)
        log = RecordedLog()
        conductor = DeviceCoordinator(monitor: monitor, store: self.store, clock: clock, logger: log.logger)
    }

    /// Returns a coordinator that starts after this one has stopped, with its stored state.
    func successor(_ device: String = leftAlone, clock: ManualClock? = nil) throws -> DeviceCoordinatorScene {
        try DeviceCoordinatorScene(device, clock: clock ?? self.clock.afterCrash(), store: store)
    }

    /// Prepares the coordinator and runs it while `body` runs.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await conductor.prepare(receivers)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await conductor.run() }
            let result: Result
            do {
                result = try await body()
            } catch {
                await conductor.stop()
                throw error
            }
            await conductor.stop()
            try await tasks.waitForAll()
            return result
        }
    }

    func journal() async throws -> [JournalEntry] {
        try await store.read { try $0.journal(after: 0, limit: 10_000) }
    }

    func decisions() async throws -> [Decision] { try await journal().map(\.decision) }

    /// Suspends until the coordinator is in this phase.
    func wait(for phase: DozePhase) async throws {
        try await eventually("\(phase)") { await conductor.status().doze.phase == phase }
    }

    /// Suspends until the next deadline of the coordinator is at this boot time.
    func waitForAlarm(at bootSeconds: Double?) async throws {
        try await eventually("an alarm at \(bootSeconds.map { "\($0)" } ?? "no time")") {
            clock.nextWaking == bootSeconds && clock.sleepers == (bootSeconds == nil ? 0 : 1)
        }
    }

    /// Reports apps with a contiguous background task, running wakes, or other background work.
    func apps(holding names: [String] = [], wakes: Int = 0, working: Int = 0) {
        var activity = AppActivity()
        if !names.isEmpty { activity.holders = [AwakeHolder(app: Self.app, tasks: names, since: clock.now().date)] }
        activity.wakes = wakes
        activity.working = working
        conductor.activityChanged(activity)
    }
}
