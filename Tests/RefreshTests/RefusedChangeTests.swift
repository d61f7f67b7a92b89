import NightshiftAPI
import Refresh
import Runtime
import SimulationSupport
import Store
import Testing

/// R1: Requests while the disk is full, which have no effect at that time or later.
@Suite struct RefusedChangeTests {
    private typealias Scene = ServiceScene
    private static let app = StateScene.app
    private static let other = StateScene.other

    enum Asking: CaseIterable, Sendable {
        case offForAll, budget, offForOne, interval, cap, forgetOne, forgetAll, fetch, intervalOfTheApp, task, cancelAll
        case cancelByUser

        func ask(_ service: RefreshService) async throws(Problem) {
            switch self {
            case .offForAll: _ = try await service.change(RefreshChange(isOn: false))
            case .budget: _ = try await service.change(RefreshChange(dailyEnergy: 7))
            case .offForOne: _ = try await service.change(app, AppRefreshChange(isOn: false))
            case .interval: _ = try await service.change(app, AppRefreshChange(interval: "7200"))
            case .cap: _ = try await service.change(app, AppRefreshChange(dailyCap: 3))
            case .forgetOne: _ = try await service.forgetUse(of: app)
            case .forgetAll: _ = try await service.forgetAll()
            case .fetch: _ = try await service.fetchNow(app)
            case .intervalOfTheApp: try await service.setInterval(.never, for: app)
            case .task: try await service.submit(StateScene.task(.processing), for: other, isInFront: false)
            case .cancelAll: try await service.cancel(nil, of: other)
            case .cancelByUser: try await service.cancelForUser("kept", of: other)
            }
        }
    }

    @Test(arguments: Asking.allCases)
    func `R1: A request that the service cannot write is refused without effect`(
        _ asking: Asking
    ) async throws {
        let scene = try Scene([
            StateScene.manifest(interval: .minimum), StateScene.manifest(Self.other, tasks: ["work", "kept"]),
        ])
        try await scene.service.prepare()
        _ = try await scene.service.fetchNow(Self.app)
        try await scene.endWakes()
        var kept = StateScene.task(.processing)
        kept.identifier = "kept"
        kept.requiresPower = true
        try await scene.service.submit(kept, for: Self.other, isInFront: false)
        let before = try await scene.service.status()
        let (journal, told) = (try await entries(scene), scene.told.availability)

        scene.gate.shut()
        let problem = await #expect(throws: Problem.self) { try await asking.ask(scene.service) }
        #expect(problem?.status == 503)
        #expect(try await scene.service.status() == before)
        #expect(scene.told.availability == told)
        scene.gate.open()
        // The next write does not contain the refused change either.
        await scene.service.receive(.use(isInFront: true), of: Self.other)
        await scene.service.receive(.use(isInFront: false), of: Self.other)
        #expect(try await entries(scene).filter { $0 != .useBegan && $0 != .useEnded } == journal)
        #expect(try await scene.wakes().isEmpty)
        await scene.service.stop()
        let next = try Scene(after: scene)
        try await next.service.prepare()
        let (found, apps) = (try await next.service.status(), before.apps.first { $0.app == Self.app })
        #expect(found.isOn == before.isOn && found.budget.dailyEnergy == before.budget.dailyEnergy)
        #expect(found.apps.first { $0.app == Self.app }?.fetches == apps?.fetches)
        #expect(try await next.service.scheduledTasks(of: Self.other).map(\.identifier) == ["kept"])
        await next.service.stop()
    }

    private func entries(_ scene: ServiceScene) async throws -> [Decision] {
        try await scene.store.read { try $0.journal(after: 0, limit: 1_000) }.map(\.decision)
    }

    @Test func `R1: The use of an app is recorded even if a simultaneous change cannot be written`() async throws {
        let scene = try Scene([StateScene.manifest(interval: .minimum), StateScene.manifest(Self.other)])
        try await scene.service.prepare()
        let service = scene.service
        for isRefused in [false, true] {
            if isRefused { scene.gate.shut() }
            async let change = try? service.change(Self.app, AppRefreshChange(dailyCap: isRefused ? 1 : 4))
            async let use: Void = service.receive(.use(isInFront: !isRefused), of: Self.other)
            _ = await (change, use)
            scene.gate.open()
        }
        #expect(try await service.status(of: Self.app).dailyCap == 4)
        await service.receive(.use(isInFront: true), of: Self.app)
        let decisions = try await entries(scene)
        #expect(decisions.count { $0 == .useBegan } == 2 && decisions.count { $0 == .useEnded } == 1)
        await service.stop()
    }
}
