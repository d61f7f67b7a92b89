import Clock
import Foundation
import Logging
import NightshiftAPI
import Refresh
import Runtime
import Scheduler
import SimulationSupport
import Store
import Synchronization

/// The refresh service with a real store, clocks that the test sets, and apps that do what the test requires.
struct ServiceScene: Sendable {
    let clock: ManualClock
    let store: Store
    let gate: CommitGate
    let service: RefreshService
    let told: Told
    let entries: ScriptedEntries

    static let app = StateScene.app
    static let other = StateScene.other

    /// The notices that were sent to apps.
    final class Told: Sendable {
        private let kept = Mutex<(expired: [String], availability: [String])>(([], []))

        var expired: [String] { kept.withLock { $0.expired } }
        var availability: [String] { kept.withLock { $0.availability } }

        func expire(_ words: String) { kept.withLock { $0.expired.append(words) } }
        func tell(_ words: String) { kept.withLock { $0.availability.append(words) } }
    }

    /// - Parameter before: the scene whose store and clock continue here, as after a crash of the service.
    init(_ manifests: [AppManifest] = [], after before: ServiceScene? = nil) throws {
        clock =
            before?.clock
            ?? ManualClock(ClockReading(bootID: "boot", bootSeconds: 1_000, wallSeconds: StateScene.start))
        store = try before?.store ?? Store(inMemory: clock.now())
        gate = before?.gate ?? CommitGate()
        if before == nil { store.add(transactionObserver: gate) }
        let told = before?.told ?? Told()
        self.told = told
        let entries = before?.entries ?? ScriptedEntries(manifests)
        self.entries = entries
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        service = RefreshService(
            RefreshService.Environment(
                store: store, clock: clock, offset: { _ in 0 },
                expire: { told.expire("\($0) \($1) \($2)") },
                availabilityChanged: { told.tell("\($0) \($1)") }, manifests: { await entries.read() },
                logger: logger))
    }

    var hour: Double { (clock.now().wallSeconds - StateScene.start) / 3_600 }

    func wakes() async throws -> [WantedWake] { try await store.read { try $0.wantedWakes() } }

    func journal(_ decision: Decision) async throws -> [JournalEntry] {
        try await store.read { try $0.journal(after: 0, limit: 100_000) }.filter { $0.decision == decision }
    }

    /// Advances the clock by the given seconds, and lets the service decide.
    func pass(_ seconds: Double, _ moment: DeviceState = DeviceState()) async {
        clock.advance(to: clock.now().bootSeconds + seconds)
        await service.apply(moment)
    }

    /// Ends all wakes of the apps, and writes the ends as the apps' machines would.
    ///
    /// - Returns: the number of transactions with ends that are on disk.
    @discardableResult
    func endWakes(_ result: RefreshResult = .newData, isHeard: Bool = true) async throws -> Int {
        let now = clock.now().wallSeconds
        var count = 0
        for wake in try await wakes() {
            do throws(StoreError) {
                try await store.write { try $0.finishWake(wake, WakeEnd(result: result, time: now)) }
                count += 1
            } catch {
                continue
            }
        }
        if isHeard { await service.receive(.wakesEnded, of: Self.app) }
        return count
    }
}
