import Store
import Testing
import Transfers

/// Tests of the number of connections and of the distribution of bytes, in virtual time.
@Suite struct SegmentSimulationTests {
    static let mebibyte: Int64 = 1 << 20

    static func network(
        _ script: SegmentNetwork.Script, mebibytes: Int64 = 64, connections: Int = 6, forced: Int? = nil,
        sources: Int = 1
    ) -> SegmentNetwork {
        let map = SegmentMap(total: mebibytes * mebibyte, count: 0, synced: 0)
        let limits = SegmentLimits(connectionsPerHost: connections, forced: forced)
        let network = SegmentNetwork(script, map: map, limits: limits, sources: sources)
        network.adopt()
        return network
    }

    /// A test with 64 MiB, where one of four connections has 0.1 MB/s and the others have 10 MB/s. The result is
    /// compared with 30.1 MB/s.
    @Test(arguments: [0, 1, 2, 3], [nil, 4])
    func `One slow connection of four does not delay the download`(slow: Int, forced: Int?) {
        var script = SegmentNetwork.Script()
        script.rate = { number, _ in number == slow ? 100_000 : 10_000_000 }
        let network = Self.network(script, connections: 4, forced: forced)
        network.run()
        let ideal = 64 * 1_048_576 / 30_100_000.0
        print("slow \(slow) forced \(forced ?? 0): \(network.now / ideal) of ideal, wasted \(network.wasted)")
        #expect(network.outcome == .finished)
        #expect(network.now <= ideal * 1.15, "\(network.now) s against \(ideal) s")
        #expect(network.wasted <= 2 * Self.mebibyte)
    }

    /// A test in which both the slow connection and its replacement are slow.
    @Test(arguments: [0, 1, 2, 3], [nil, 4])
    func `A slow connection with a slow replacement does not delay the download`(slow: Int, forced: Int?) {
        var script = SegmentNetwork.Script()
        script.place = { $0 == slow ? 100_000 : 10_000_000 }
        let network = Self.network(script, connections: 4, forced: forced)
        network.run()
        let ideal = 64 * 1_048_576 / 30_100_000.0
        print("slow place \(slow) forced \(forced ?? 0): \(network.now / ideal) of ideal, wasted \(network.wasted)")
        #expect(network.outcome == .finished)
        #expect(network.now <= ideal * 1.3, "\(network.now) s against \(ideal) s")
    }

    /// A test with 20 MB/s per connection and 100 MB/s in total, which five connections use fully.
    @Test(arguments: [6, 16]) func `The scheduler opens five or six connections if the server limits the rate of each`(
        limit: Int
    ) {
        var script = SegmentNetwork.Script()
        script.rate = { _, _ in 20_000_000 }
        script.total = { _ in 100_000_000 }
        let network = Self.network(script, mebibytes: 1024, connections: limit)
        network.run(for: 4)
        #expect((5...6).contains(network.running.count), "settled at \(network.running.count)")
        network.run()
        let ideal = 1024 * 1_048_576 / 100_000_000.0
        print("cap per connection: \(network.now / ideal) of ideal")
        #expect(network.now <= ideal * 1.15)
    }

    /// A test with 4 MB/s per connection and no other limit, on a short path. The ideal uses all 8 connections from the
    /// beginning.
    @Test(arguments: [0.001, 0.01, 0.03]) func `The scheduler reaches all useful connections early`(latency: Double) {
        var script = SegmentNetwork.Script()
        script.latency = latency
        script.rate = { _, _ in 4_000_000 }
        let network = Self.network(script, connections: 8)
        network.run()
        let ideal = 64 * 1_048_576 / 32_000_000.0
        print("early, latency \(latency): \(network.now / ideal) of ideal")
        #expect(network.outcome == .finished)
        #expect(network.now <= ideal * 1.2)
    }

    @Test(arguments: [4_000_000.0, 50_000_000]) func `The scheduler reports the useful number of connections`(
        rate: Double
    ) {
        var script = SegmentNetwork.Script()
        script.rate = { _, _ in rate }
        script.total = { _ in 24_000_000 }
        let network = Self.network(script, mebibytes: 256, connections: 8)
        #expect(network.scheduler.usefulConnections == nil)
        network.run()
        let useful = network.scheduler.usefulConnections ?? 0
        #expect(rate < 10_000_000 ? (5...8).contains(useful) : useful == 1)
    }

    /// A test in which more connections do not help. The scheduler settles at one within a second, and tries others
    /// less and less often.
    @Test func `The scheduler settles at one connection if more connections bring no speed`() {
        var script = SegmentNetwork.Script()
        script.rate = { _, _ in 50_000_000 }
        script.total = { _ in 5_000_000 }
        let network = Self.network(script, mebibytes: 512)
        network.run(for: 1)
        #expect(network.running.count == 1)
        network.run()
        let begun = network.log.count { if case .begin = $0.action { true } else { false } }
        #expect(network.outcome == .finished)
        #expect(network.most <= 4)
        #expect(begun <= 14, "\(begun) connections begun")
        #expect(network.wasted <= Self.mebibyte)
    }

    /// A test of the same bottleneck with rates that vary by a fifth. The scheduler uses one or two connections, with
    /// almost no loss.
    @Test func `A bottleneck with noisy rates keeps one or two connections`() {
        let seed = ExchangeRandom.printedSeed("noise")
        var random = ExchangeRandom(seed: seed)
        for _ in 0..<20 {
            let salt = random.next()
            var script = SegmentNetwork.Script()
            script.rate = { number, time in
                var noise = ExchangeRandom(seed: salt ^ UInt64(time * 100) << 8 ^ UInt64(number))
                return 50_000_000 * Double.random(in: 0.8..<1.2, using: &noise)
            }
            script.totalAt = { time in
                var noise = ExchangeRandom(seed: salt ^ UInt64(time * 20))
                return 5_000_000 * Double.random(in: 0.8..<1.2, using: &noise)
            }
            let network = Self.network(script, mebibytes: 64)
            network.run(for: 4)
            #expect(network.running.count <= 2, "\(network.running.count)")
            network.run()
            #expect(network.outcome == .finished)
            #expect(network.now <= 64 * 1_048_576 / 5_000_000.0 * 1.1, "\(network.now)")
        }
    }

    private static func bursts(of seconds: Double, after latency: Double, rate: Double) -> SegmentNetwork.Script {
        var script = SegmentNetwork.Script()
        script.latency = latency
        script.burst = seconds
        script.rate = { _, _ in rate }
        return script
    }

    /// A test of rate-limited servers, which send a burst and wait (for a second with nginx's `limit_rate`). Short
    /// measurements of their rate are unreliable.
    @Test(arguments: [0.15, 0.25, 0.4, 1.0], (2..<12).map { Double($0) / 100 })
    func `Bursts of a rate-limited server do not hide that more connections help`(burst: Double, latency: Double) {
        let network = Self.network(Self.bursts(of: burst, after: latency, rate: 1_000_000))
        network.run(for: 8)
        #expect(network.running.count == 6)
        network.run()
        let ideal = 64 * 1_048_576 / 6_000_000.0
        #expect(network.now <= ideal * 1.3, "\(network.now) s against \(ideal) s")
    }

    /// A test of bursts where more connections do not help.
    @Test(arguments: [0.15, 0.25, 0.4, 1.0], (2..<12).map { Double($0) / 100 })
    func `Bursts of a bottleneck do not add useless connections`(burst: Double, latency: Double) {
        var script = Self.bursts(of: burst, after: latency, rate: 50_000_000)
        script.total = { _ in 5_000_000 }
        let network = Self.network(script, mebibytes: 128)
        network.run(for: 12)
        #expect(network.running.count <= 3, "\(network.running.count)")
        network.run()
        #expect(network.now <= 128 * 1_048_576 / 5_000_000.0 * 1.1, "\(network.now)")
    }

    /// A test of a path with a high latency. Measurements take longer, but the scheduler still finds the number of
    /// connections.
    @Test func `The scheduler finds the number of connections on a path with high latency`() {
        var script = SegmentNetwork.Script()
        script.latency = 0.3
        script.rate = { _, _ in 2_000_000 }
        let network = Self.network(script, mebibytes: 256)
        network.run()
        let ideal = 256 * 1_048_576 / 12_000_000.0
        print("long path: \(network.now / ideal) of ideal")
        #expect(network.now <= ideal * 1.3)
    }

    /// A test in which connections break after this many bytes, wherever they are.
    @Test(arguments: [1, 70_000, 1_000_000, 3_333_333])
    func `Connections that break after some bytes do not stop the download`(after bytes: Int64) {
        for dying in 1...6 {
            var script = SegmentNetwork.Script()
            script.dies = { $0 == dying ? bytes : nil }
            let network = Self.network(script)
            network.run()
            #expect(network.outcome == .finished)
            #expect(network.now <= 64 * 1_048_576 / 60_000_000.0 + 1.2, "\(network.now)")
        }
    }

    /// A test in which the first connection breaks at each point. The other connections continue, or the task waits
    /// with its bytes.
    @Test func `The download survives the loss of its first connection after 64 KiB`() {
        for bytes in stride(from: Int64(1), to: 60 << 20, by: 2_345_678) {
            var script = SegmentNetwork.Script()
            script.dies = { $0 == 0 ? bytes : nil }
            let network = Self.network(script)
            network.run()
            if case .exhausted = network.outcome {
                #expect(bytes < 65_536, "only where it had brought next to nothing and nobody else was there")
            } else {
                #expect(network.outcome == .finished)
            }
        }
    }

    @Test func `The download finishes although every connection breaks`() {
        var script = SegmentNetwork.Script()
        script.dies = { _ in 1_500_000 }
        let network = Self.network(script)
        network.run()
        #expect(network.outcome == .finished)
    }

    /// A test with very short parts. More connections help little, and cost almost no time.
    @Test(arguments: [128 << 10, 1 << 20, 5_000_000])
    func `A server that caps the length of ranges costs a download almost no speed`(cap: Int64) {
        var script = SegmentNetwork.Script()
        script.cap = cap
        let network = Self.network(script)
        network.run()
        #expect(network.outcome == .finished)
        let alone = 64 * 1_048_576 / 10_000_000.0
        #expect(network.now <= (cap > 1 << 20 ? 0.5 : 1.05) * alone, "\(network.now / alone)")
    }

    /// A test with parts that are not worth their requests, so the first response continues alone.
    @Test func `A server that sends tiny parts is left with one connection`() {
        var script = SegmentNetwork.Script()
        script.cap = 10_000
        let network = Self.network(script)
        network.run()
        #expect(network.outcome == .finished)
        #expect(network.log.contains { if case .single = $0.action { true } else { false } })
        #expect(network.wasted == 0)
    }

    @Test func `Parts that start early do not stop the download`() {
        var script = SegmentNetwork.Script()
        script.early = 100_000
        let network = Self.network(script)
        network.run()
        #expect(network.outcome == .finished)
    }

    /// A test in which a connection becomes silent. Other connections fetch its bytes within its timeout.
    @Test(arguments: [0, 1, 2]) func `Other connections fetch the bytes of a connection that becomes silent`(
        number: Int
    ) {
        var script = SegmentNetwork.Script()
        script.rate = { $0 == number && $1 > 0.7 ? 0 : 10_000_000 }
        let network = Self.network(script, mebibytes: 256, connections: 4)
        network.run()
        let ideal = 256 * 1_048_576 / 40_000_000.0
        #expect(network.outcome == .finished)
        #expect(network.log.contains { $0.action.stopped == ConnectionID(number) })
        #expect(network.now <= ideal * 1.2, "\(network.now / ideal)")
    }

    /// A test in which two connections fetch the last bytes of one that slows down.
    @Test func `A connection that slows down does not delay the end of the download`() {
        var script = SegmentNetwork.Script()
        script.rate = { number, time in number == 1 && time > 1.3 ? 20_000 : 10_000_000 }
        let network = Self.network(script, mebibytes: 32, connections: 2, forced: 2)
        network.run()
        #expect(network.outcome == .finished)
        #expect(network.now <= 32 * 1_048_576 / 20_000_000.0 * 1.4, "\(network.now)")
    }

    /// A test in which the network stops silently. Connections are replaced after growing timeouts, and then the task
    /// waits.
    @Test func `A download over a dead network replaces its connections less and less often, then waits`() {
        var script = SegmentNetwork.Script()
        script.rate = { _, time in time > 1 ? 0 : 10_000_000 }
        let network = Self.network(script)
        network.run(limit: 1_000)
        guard case .exhausted = network.outcome else {
            Issue.record("\(String(describing: network.outcome))")
            return
        }
        #expect(network.log.count < 100)
    }

    /// A test with a mirror at a tenth of the speed, which loses its part. Both servers together are not slower than
    /// the fast one alone.
    @Test func `A slow mirror does not slow the download`() {
        var script = SegmentNetwork.Script()
        script.total = { $0 == 0 ? 20_000_000 : 2_000_000 }
        script.rate = { _, _ in 20_000_000 }
        let network = Self.network(script, mebibytes: 256, connections: 4, forced: 4, sources: 2)
        network.run()
        #expect(network.outcome == .finished)
        #expect(network.now <= 256 * 1_048_576 / 20_000_000.0 * 1.05, "\(network.now)")
    }

    @Test func `Two equal mirrors double the speed of one`() {
        var script = SegmentNetwork.Script()
        script.total = { _ in 10_000_000 }
        script.rate = { _, _ in 10_000_000 }
        let network = Self.network(script, mebibytes: 256, connections: 2, sources: 2)
        network.run()
        #expect(network.now <= 256 * 1_048_576 / 20_000_000.0 * 1.2, "\(network.now)")
    }
}

extension SegmentAction {
    var stopped: ConnectionID? {
        if case .stop(let id, _) = self { id } else { nil }
    }
}
