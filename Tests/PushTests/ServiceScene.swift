import Clock
import Foundation
import Logging
import NightshiftAPI
import Push
import PushProtocol
import Runtime
import SimulationSupport
import Store
import Synchronization
import TestSupport

/// The push service with a real store, clocks that the test sets, and a gateway in memory.
final class ServiceScene: Sendable {
    let clock: ManualClock
    let store: Store
    let gate: CommitGate
    let gateway: ScriptedGateway
    let directory: TemporaryDirectory
    let service: PushService
    let told: Watched<[String]>
    let entries: ScriptedEntries
    private let running = Mutex<Task<Void, Never>?>(nil)

    static let app = StateScene.app
    static let url = "nightshift-push://gateway.example:2196/code"

    /// - Parameter before: the scene whose store continues here, as after a crash of the service.
    init(after before: ServiceScene? = nil, bus: ScriptedBus? = nil) throws {
        clock =
            before?.clock
            ?? ManualClock(ClockReading(bootID: "boot", bootSeconds: 1_000, wallSeconds: StateScene.start))
        store = try before?.store ?? Store(inMemory: clock.now())
        gate = before?.gate ?? CommitGate()
        if before == nil { store.add(transactionObserver: gate) }
        let gateway = before?.gateway ?? ScriptedGateway()
        self.gateway = gateway
        directory = try before?.directory ?? TemporaryDirectory()
        let told = Watched<[String]>([])
        self.told = told
        let entries =
            before?.entries
            ?? ScriptedEntries([StateScene.manifest(StateScene.app), StateScene.manifest(StateScene.other)])
        self.entries = entries
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        service = PushService(
            PushService.Environment(
                store: store, clock: clock, state: URL(filePath: directory.path),
                connect: { gateway.connect($0, $1) }, random: { 0.5 },
                notifications: PushService.Notifications(changed: { told.update { $0.append("notifications") } }),
                distribution: bus?.distribution,
                tell: { app, notice in told.update { $0.append("\(app) \(notice.token ?? notice.error ?? "none")") } },
                manifests: { await entries.read() }, logger: logger))
    }

    func start() async throws {
        try await service.prepare()
        running.withLock { $0 = Task { [service] in await service.run() } }
    }

    /// Ends the service. Every test must call this last.
    func end() async {
        await service.stop()
        await running.withLock(\.self)?.value
    }

    /// Returns an enrolled service, with an app that has its token.
    static func registered() async throws -> ServiceScene {
        let scene = try ServiceScene()
        try await scene.start()
        _ = try await scene.service.enrol(PushEnrolmentRequest(url: Self.url, name: "test"))
        _ = try await scene.service.register(Self.app)
        return scene
    }

    func message(_ number: UInt64, _ payload: String = StateScene.silent) -> Message {
        Message(
            id: PushID(high: 1, low: number), topic: Self.app.rawValue, timestamp: 0,
            expiry: Int64(saturating: StateScene.start + 86_400), priority: .considerate, type: .background,
            collapseID: nil, isFromStorage: false, payload: Array(payload.utf8))
    }

    /// Sends pushes and waits until they are acknowledged to the gateway.
    func deliver(_ messages: [Message]) async throws {
        let before = gateway.state.read { $0.acknowledged.count }
        for message in messages { gateway.send(message) }
        try await gateway.state.wait(for: "acknowledgements") { $0.acknowledged.count >= before + messages.count }
    }

    func wakes() async throws -> [WantedWake] {
        try await store.read { try $0.wantedWakes() }.filter { $0.source == .push }
    }

    func endWake(_ result: RefreshResult) async throws {
        let (now, wakes) = (clock.now().wallSeconds, try await wakes())
        try await store.write { transaction in
            for wake in wakes { try transaction.finishWake(wake, WakeEnd(result: result, time: now)) }
        }
        await service.receive(.wakesEnded, of: Self.app)
    }

    func connection() async throws -> PushStatus.Connection { try await service.status().connection }

    /// Lets time pass until the service's next alarm.
    func passToAlarm() async throws {
        var next: Double?
        try await eventually("an alarm") {
            next = clock.nextWaking
            return next != nil
        }
        if let next { clock.advance(to: next) }
    }
}
