import Foundation
import NightshiftAPI
import Refresh
import Runtime
import Scheduler
import SimulationSupport
import Store
import TestSupport
import Testing

/// R1 R2: A week of the refresh service, and a crash after every write.
@Suite(.timeLimit(.minutes(20))) struct RefreshLifeTests {
    private static let apps = (0..<3).map { AppID(rawValue: "org.example.App\($0)") }
    private static let manifests = apps.map { StateScene.manifest($0, interval: .minimum) }

    @Test func `R1 R2: In a week, fetches happen only by day, count once, and stay within the budget`() async throws {
        let scene = try ServiceScene(Self.manifests)
        try await scene.service.prepare()
        var (begun, seen) = ([(app: AppID, hour: Double)](), Set<Int64>())
        while scene.hour < 7 * 24 {
            let next = try await scene.service.status().nextLook?.timeIntervalSince1970
            let wait = max(1, min(600, (next ?? .infinity) - scene.clock.now().wallSeconds))
            // For a while the user uses the device twice an hour, and opens the first app each morning.
            let hour = scene.hour.truncatingRemainder(dividingBy: 24)
            let isAway = !(7..<22.5).contains(hour) || hour.truncatingRemainder(dividingBy: 0.5) > 0.25
            let moment = isAway ? StateScene.idle(power: .battery) : DeviceState()
            await scene.pass(wait, moment)
            await scene.service.receive(.use(isInFront: (8..<8.5).contains(hour)), of: Self.apps[0])
            let wakes = try await scene.wakes()
            #expect(Set(wakes.map(\.app)).count == wakes.count, "two at once")
            for wake in wakes where seen.insert(wake.through).inserted { begun.append((wake.app, scene.hour)) }
            guard !wakes.isEmpty else { continue }
            await scene.pass(8, moment)
            for wake in try await scene.wakes() where seen.insert(wake.through).inserted {
                begun.append((wake.app, scene.hour))
            }
            try await scene.endWakes(.newData)
        }
        try await scene.endWakes(.newData)
        let (starts, ends) = (try await scene.journal(.fetchBegan), try await scene.journal(.fetchEnded))
        #expect(starts.count == ends.count && starts.count >= 3 * 7)
        #expect(ends.allSatisfy { $0.inputs?["result"] == "newData" })
        // After two days the service has learned that the user is never there at night, so it does not fetch then.
        #expect(begun.allSatisfy { $0.hour < 48 || $0.hour.truncatingRemainder(dividingBy: 24) > 5 })
        #expect(Set(begun.map(\.app)) == Set(Self.apps))
        let status = try await scene.service.status()
        #expect(Double(starts.count) < 7.25 * 100 + 10 && status.budget.energyLeft <= status.budget.dailyEnergy)
        #expect(status.apps.allSatisfy { $0.fetches.count <= Limits.fetches })
        await scene.service.stop()
    }

    @Test func `R1: The service writes journal entries that a full disk refused once there is space`() async throws {
        let scene = try ServiceScene(Self.manifests)
        try await scene.service.prepare()
        _ = try await scene.service.fetchNow(Self.apps[0])
        try await scene.endWakes(.newData, isHeard: false)
        scene.gate.shut()
        await scene.service.receive(.wakesEnded, of: Self.apps[0])
        #expect(try await scene.journal(.fetchEnded).isEmpty)
        scene.gate.open()
        await scene.pass(3_700)
        #expect(try await scene.journal(.fetchEnded).count == 1)
        #expect(try await scene.store.read { try $0.wakeEnds() }.isEmpty)
        await scene.service.stop()
    }

    /// The number of finished steps of the scenario, and the number of ends that were written.
    private static func story(_ scene: ServiceScene, _ done: inout Int) async throws {
        try? await scene.service.prepare()
        for _ in 0..<2 {
            for app in apps { _ = try? await scene.service.fetchNow(app) }
            await scene.pass(5)
            done += try await scene.endWakes(.newData, isHeard: false)
            await scene.service.receive(.wakesEnded, of: Self.apps[0])
            await scene.pass(3_700)
        }
    }

    @Test func `R1: After a crash at any write, each fetch counts exactly once`() async throws {
        var writes = 0
        var isBroken = true
        while isBroken {
            let scene = try ServiceScene(Self.manifests)
            scene.gate.open(for: writes)
            var done = 0
            try await Self.story(scene, &done)
            isBroken = scene.gate.isShut
            await scene.service.stop()

            // The next service starts with the stored state. The apps have continued to run in the meantime.
            scene.gate.open()
            let next = try ServiceScene(after: scene)
            try await next.service.prepare()
            done += try await next.endWakes(.newData)
            let (begun, ended) = (try await next.journal(.fetchBegan), try await next.journal(.fetchEnded))
            #expect(begun.count == ended.count, "after \(writes) writes")
            #expect(ended.count == done, "after \(writes) writes")
            #expect(ended.allSatisfy { $0.inputs?["result"] == "newData" }, "after \(writes) writes")
            #expect(try await next.wakes().isEmpty)
            #expect(try await next.store.read { try $0.wakeEnds() }.isEmpty)
            let records = try await next.service.status().apps.flatMap(\.fetches)
            #expect(records.count == done && records.allSatisfy { $0.ended != nil }, "after \(writes) writes")
            await next.service.stop()
            try next.store.close()
            writes += 1
        }
        #expect(writes > 8)
    }
}
