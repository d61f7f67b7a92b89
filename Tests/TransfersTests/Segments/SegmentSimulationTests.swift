import Store
import Testing
import Transfers

/// The resulting number of connections and distribution of bytes, in virtual time.
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

    /// 64 MiB with one of four connections at 0.1 MB/s and the others at 10 MB/s, compared with 30.1 MB/s.
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

    /// The same, but the replacement of the slow connection is slow as well.
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

    /// 20 MB/s per connection, 100 MB/s in total: five connections use it fully.
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

    /// More connections do not help: the scheduler settles at one within a second, and tries others less and less
    /// often.
    @Test func `The scheduler settles at one connection if more of them bring no speed`() {
        var script = SegmentNetwork.Script()
        script.rate = { _, _ in 50_000_000 }
        script.total = { _ in 5_000_000 }
        let network = Self.network(script, mebibytes: 512)
        network.run(for: 1)
        #expect(network.running.count == 1)
        network.run()
        let begun = network.log.count { if case .begin = $0.action { true } else { false } }
        #expect(network.outcome == .finished)
        #expect(network.most == 2)
        #expect(begun <= 12, "\(begun) connections begun")
        #expect(network.wasted <= Self.mebibyte)
    }

    /// The same with rates that vary by a fifth: one or two connections, with almost no loss.
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

    /// Rate-limited servers send a burst and wait (nginx's limit_rate: for a second), so short measurements are chance.
    @Test(arguments: [0.15, 0.25, 0.4, 1.0], (2..<12).map { Double($0) / 100 })
    func `Bursts of a rate-limited server do not hide that more connections help`(burst: Double, latency: Double) {
        let network = Self.network(Self.bursts(of: burst, after: latency, rate: 1_000_000))
        network.run(for: 8)
        #expect(network.running.count == 6)
        network.run()
        let ideal = 64 * 1_048_576 / 6_000_000.0
        #expect(network.now <= ideal * 1.3, "\(network.now) s against \(ideal) s")
    }

    /// Bursts, where more connections do not help.
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

    /// A path with a high latency: measurements take longer, and the number is still found.
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

    /// Connections break after this many bytes, wherever they are.
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

    /// The single response breaks at each point; the other connections continue, or the task waits with its bytes.
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

    /// With very short parts, more connections help little, and cost almost nothing.
    @Test(arguments: [128 << 10, 1 << 20, 5_000_000]) func `Ranges that a server caps cost almost no speed`(cap: Int64)
    {
        var script = SegmentNetwork.Script()
        script.cap = cap
        let network = Self.network(script)
        network.run()
        #expect(network.outcome == .finished)
        let alone = 64 * 1_048_576 / 10_000_000.0
        #expect(network.now <= (cap > 1 << 20 ? 0.5 : 1.05) * alone, "\(network.now / alone)")
    }

    /// Such parts are not worth their requests: the first response continues alone.
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

    /// A connection becomes silent: other connections fetch its bytes within its timeout.
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

    /// The last bytes of a connection that slows down are raced.
    @Test func `A connection that slows down does not delay the end of the download`() {
        var script = SegmentNetwork.Script()
        script.rate = { number, time in number == 1 && time > 1.3 ? 20_000 : 10_000_000 }
        let network = Self.network(script, mebibytes: 32, connections: 2, forced: 2)
        network.run()
        #expect(network.outcome == .finished)
        #expect(network.now <= 32 * 1_048_576 / 20_000_000.0 * 1.4, "\(network.now)")
    }

    /// The network is gone silently: connections are replaced after growing timeouts, then the task waits.
    @Test func `Connections to a dead network are replaced after growing timeouts, then the task waits`() {
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

    /// A mirror at a tenth of the speed loses its part; both together are not slower than the fast one alone.
    @Test func `A slow mirror does not slow the download`() {
        var script = SegmentNetwork.Script()
        script.total = { $0 == 0 ? 20_000_000 : 2_000_000 }
        script.rate = { _, _ in 20_000_000 }
        let network = Self.network(script, mebibytes: 256, connections: 4, forced: 4, sources: 2)
        network.run()
        #expect(network.outcome == .finished)
        #expect(network.now <= 256 * 1_048_576 / 20_000_000.0 * 1.05, "\(network.now)")
    }

    @Test func `Two equal mirrors add up their speed`() {
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
