import PushProtocol
import PushRouting
import Testing

/// Tests with 10^5 random sequences of push, store, connect, disconnect, keep-alive, change and crash.
@Suite struct RoutingWalkTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `R5, B6: The route never loses, delays or repeats an accepted push`(block: UInt64) {
        var arrived = 0
        for number in 0..<5_000 as Range<UInt64> {
            let seed = block << 32 | number
            var world = RoutingWorld(seed: seed)
            for _ in 0..<Int.random(in: 10...60, using: &world.random) { world.step() }
            world.finish()
            #expect(world.faults == [], "seed \(seed)")
            #expect(world.lost == [], "seed \(seed)")
            #expect(world.disk.isEmpty, "seed \(seed)")
            arrived += world.written.count
            if !world.faults.isEmpty || !world.lost.isEmpty { return }
        }
        #expect(arrived > 5_000)
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `R5: A connected device never gets more silent pushes than the limit allows`(
        seed: UInt64
    ) {
        var world = RoutingWorld(seed: seed)
        world.connect()
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<4, using: &world.random) {
            case 0: world.push()
            case 1: world.seconds += 10
            default:
                world.work()
                world.complete()
                world.deviceReads()
                world.gatewayReads()
            }
        }
        let free = 2 + world.seconds / world.settings.interval
        for (topic, count) in world.freeSilent { #expect(Double(count) <= free + 0.01, "\(topic), seed \(seed)") }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `R5: Two gateways never lose, delay, repeat or reorder an accepted push`(
        block: UInt64
    ) {
        var arrived = 0
        for number in 0..<1_000 as Range<UInt64> {
            let seed = block << 32 | number
            var world = ClusterWorld(seed: seed)
            for _ in 0..<Int.random(in: 20...120, using: &world.random) { world.step() }
            world.finish()
            #expect(world.faults == [], "seed \(seed)")
            #expect(world.lost == [], "seed \(seed)")
            #expect(world.disk.isEmpty, "seed \(seed)")
            let free = 2 + world.seconds / world.settings.interval
            #expect(world.passed.values.allSatisfy { Double($0) <= free + 0.01 }, "seed \(seed)")
            arrived += world.written.count
            if !world.faults.isEmpty || !world.lost.isEmpty || !world.disk.isEmpty { return }
        }
        #expect(arrived > 1_000)
    }
}
