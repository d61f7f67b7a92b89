import Clock
import Foundation
import Location
import Logging
import NightshiftAPI
import SimulationSupport
import Store
import Synchronization
import TestSupport

/// A location service with a real store, manual clocks, scripted sources, and apps that do nothing.
struct ServiceScene: Sendable {
    let clock: ManualClock
    let store: Store
    let gate: CommitGate
    let source = ScriptedFixSource()
    let service: LocationService
    let told: Told
    let entries: ScriptedEntries

    static let app = LocationScene.app
    static let other = LocationScene.other

    /// A recorder of the notices to apps and of the questions to the user.
    final class Told: Sendable {
        private let kept = Mutex<(words: [String], answer: LocationPermission?)>(([], nil))

        var words: [String] { kept.withLock { $0.words } }
        var answer: LocationPermission? { kept.withLock { $0.answer } }

        func answer(_ permission: LocationPermission?) { kept.withLock { $0.answer = permission } }
        func say(_ words: String) { kept.withLock { $0.words.append(words) } }
    }

    /// - Parameter before: an earlier scene whose store and clock continue here, as after a crash of the service.
    init(
        _ manifests: [AppManifest] = [LocationScene.manifest(), LocationScene.manifest(LocationScene.other)],
        after before: ServiceScene? = nil
    ) throws {
        clock =
            before?.clock
            ?? ManualClock(ClockReading(bootID: "boot", bootSeconds: 1_000, wallSeconds: 1_800_001_000))
        store = try before?.store ?? Store(inMemory: clock.now())
        gate = before?.gate ?? CommitGate()
        if before == nil { store.add(transactionObserver: gate) }
        let told = before?.told ?? Told()
        self.told = told
        let entries = before?.entries ?? ScriptedEntries(manifests)
        self.entries = entries
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        service = LocationService(
            LocationService.Environment(
                store: store, clock: clock, source: source, offset: { _ in 0 },
                ask: { app, name, reason, permission in
                    told.say("ask \(app) \(name) \(reason ?? "-") \(permission)")
                    return told.answer
                },
                permissionChanged: { told.say("permission \($0) \($1.permission)") },
                wakesChanged: { told.say("wakes \($0)") }, manifests: { await entries.read() },
                logger: logger))
    }

    /// Prepares the service with the stored state, and reports the sources.
    func prepare() async throws {
        try await service.prepare()
        await service.take(ScriptedFixSource.none)
    }

    func wakes() async throws -> [WantedWake] { try await store.read { try $0.wantedWakes() } }

    func journal(_ decision: Decision) async throws -> [JournalEntry] {
        try await store.read { try $0.journal(after: 0, limit: 100_000) }.filter { $0.decision == decision }
    }

    /// Moves the device after the given number of seconds.
    func move(_ east: Double, after seconds: Double = 0) async {
        clock.advance(to: clock.now().bootSeconds + seconds)
        guard let update = fix(east) else { return }
        await service.take(update)
    }

    func fix(_ east: Double) -> FixUpdate? {
        Fix(place: LocationScene.place(east), accuracy: 5, time: clock.now().bootSeconds).map {
            .fix($0, source: "gpsd")
        }
    }

    /// Adds an app that monitors a region, and a device outside of that region.
    func begin(_ app: AppID = app) async throws {
        try await prepare()
        _ = try await service.change(app, AppLocationChange(permission: .always))
        try await service.addRegion(LocationScene.region(), for: app)
        await move(1_000)
    }

    /// Ends all wakes of the apps, and stores the ends as the state machines of the apps would.
    ///
    /// - Returns: the events of the wakes whose end is on disk.
    @discardableResult
    func endWakes() async throws -> [LocationEvent] {
        var events: [LocationEvent] = []
        for wake in try await wakes() {
            let event = try wake.payload.map { try JSON.decode(LocationEvent.self, from: $0) }
            do throws(StoreError) {
                try await store.write { try $0.finishWake(wake) }
            } catch {
                continue
            }
            if let event { events.append(event) }
        }
        return events
    }
}
