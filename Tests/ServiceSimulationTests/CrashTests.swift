import Foundation
import NightshiftAPI
import SimulationSupport
import TestSupport
import Testing
import Transfers

extension Simulations {
    /// Tests in which the service crashes after every n-th write, and the next service continues with the data on disk.
    @Suite struct CrashTests {
        @Test func `The service continues after a crash at any write`() async {
            await #expect(processExitsWith: .success) {
                await CrashStory.everyWrite("a crash", step: 1) { world in
                    try await world.crash()
                    try await world.boot()
                }
            }
        }

        @Test func `The service does not lose tasks or bytes in a power cut at a write`() async {
            await #expect(processExitsWith: .success) {
                await CrashStory.everyWrite("a power cut", step: 2) { world in
                    try await world.cutPower(off: 120)
                    try await world.boot()
                }
            }
        }

        @Test func `The service does not lose tasks or bytes while its database refuses writes`() async {
            await #expect(processExitsWith: .success) {
                await CrashStory.everyWrite("a full disk", step: 2) { world in
                    // A service that cannot start exits with the error. A running service continues and retries.
                    if world.commits.commits == 0 { return try await world.bootAnew() }
                    world.survivesFailedCommits = true
                    world.commits.open(for: 1)
                    await world.advance(by: 30)
                    world.commits.open()
                    await world.advance(by: 30)
                }
            }
        }

        @Test func `The service continues after crashes and power cuts at random times`() async {
            print("crashes: seeds \(Rounds.seeds(default: 3))")
            await #expect(processExitsWith: .success) {
                for seed in Rounds.seeds(default: 3) {
                    await Simulation.run("crashes", seed: seed &+ 1_000) { world in
                        await world.start()
                        var scenario = Scenario(world)
                        for _ in 0..<4 {
                            for _ in 0..<10 { await scenario.act() }
                            world.commits.open(for: world.random.number(0...12))
                            for _ in 0..<10 where !world.commits.hasFailed { await scenario.act() }
                            if world.random.chance(0.5) {
                                try await world.crash()
                            } else {
                                try await world.cutPower(off: world.random.fraction() * 5_000)
                            }
                            try await world.boot()
                        }
                        await scenario.finish()
                        try await world.stop()
                    }
                }
            }
        }
    }
}

/// A short scenario that runs once for each write, with a crash after that write.
enum CrashStory {
    static func everyWrite(
        _ name: String, step: Int, story: @escaping @Sendable (World) async -> Void = tell,
        _ disaster: @escaping @Sendable (World) async throws -> Void
    ) async {
        var writes = 0
        var goesOn = true
        while goesOn, writes < 400 {
            var broken = false
            await Simulation.run("\(name) after write \(writes)", seed: UInt64(writes)) { world in
                world.commits.open(for: writes)
                await world.start()
                await story(world)
                broken = world.commits.hasFailed
                if broken { try await disaster(world) }
                world.commits.open()
                await world.change { $0 = DeviceState() }
                await world.advance(by: 1)
                await world.inspect()
                for id in world.ledger.open { await world.resume(id) }
                let ended = await world.advance(atMost: 86_400) { world.ledger.open.isEmpty }
                if !ended {
                    for id in world.ledger.open {
                        world.fail("Task \(id) never ended: \(String(describing: await world.status(id)))")
                    }
                }
                for entry in world.ledger.entries.values where entry.end?.state == .failed {
                    world.fail("\(entry.mark) failed: \(String(describing: entry.end?.error))")
                }
                try await world.stop()
            }
            goesOn = broken
            writes += step
        }
        #expect(writes > 20, "The story has only \(writes) writes.")
    }

    /// Runs downloads of all sizes, with a replaced file, a broken connection, a checksum, and every task action.
    @Sendable private static func tell(_ world: World) async {
        let transport = world.transport
        transport.setBandwidth(3_000_000)
        func serve(_ name: String, _ sizes: [Int64], _ script: [ScriptedBehaviour] = []) -> String {
            let url = "http://\(name).example/file"
            let versions = sizes.enumerated().map { index, size in
                ScriptedVersion(seed: UInt64(index + 1), size: size, entityTag: "\"\(index)\"")
            }
            transport.serve(url, ScriptedResource(versions, script: script))
            return url
        }
        let small = serve("small", [20_000])
        let large = serve("large", [9_000_000], [.cut(after: 8_500_000)])
        let replaced = serve("replaced", [6_000_000, 6_500_000], [.replaced(after: 5_000_000)])
        let busy = serve("busy", [100_000], [.status(503, retryAfter: "2")])
        let first = await world.enqueue([
            world.request(small), world.request(large) { $0.connections = nil },
            world.request(replaced) { $0.connections = nil }, world.request(busy, kept: true),
        ])
        await world.advance(by: 1.2, inspecting: false)
        guard !world.commits.hasFailed, first.count == 4 else { return }
        await world.suspend(first[1])
        await world.advance(by: 1.3, inspecting: false)
        await world.resume(first[1])
        let checked = world.request(small) { request in
            request.checksum = Checksum(algorithm: .sha256, hex: Checksums.sha256(seed: 1, size: 20_000))
        }
        let second = await world.enqueue([checked, world.request(replaced)])
        await world.advance(by: 1.7, inspecting: false)
        guard !world.commits.hasFailed, second.count == 2 else { return }
        if let token = await world.cancel(second[1], keeping: true)?.resumeData {
            var next = world.request(replaced)
            next.resumeData = token
            await world.enqueue([next])
        }
        await world.advance(atMost: 600) { world.commits.hasFailed || world.ledger.open.isEmpty }
        await world.remove(first[0])
    }
}

/// The checksums of seeded contents.
enum Checksums {
    static func sha256(seed: UInt64, size: Int64) -> String {
        SHA256.hash(SeededContent(seed: seed, size: size).bytes(0..<size)).hex
    }
}
