import Store
import Testing
import Transfers

/// Tests with random servers, events and crashes, which check the invariants of ``SegmentNetwork``.
@Suite struct SegmentWalkTests {
    @Test func `Random servers and events never break an invariant of segments`() throws {
        let seed = ExchangeRandom.printedSeed("segments")
        var random = ExchangeRandom(seed: seed)
        var outcomes: [String: Int] = [:]
        for round in 0..<300 {
            let total = Int64(random.number(1..<20_000_000))
            var map = SegmentMap(total: total, count: 0, synced: 0)
            if random.chance(0.5) {
                for _ in 0..<random.number(1..<4) {
                    let start = Int64.random(in: 0..<total, using: &random)
                    map.write(start..<min(total, start + Int64(random.number(1..<4_000_000))))
                }
            }
            let sources = random.number(1..<4)
            let limits = SegmentLimits(
                connectionsPerHost: random.number(1..<7), forced: random.chance(0.3) ? random.number(1..<9) : nil,
                isDiscretionary: random.chance(0.1))
            let network = SegmentNetwork(script(&random), map: map, limits: limits, sources: sources)
            if map.isContiguous, !map.isComplete { network.adopt(at: map.prefix) } else { network.start() }
            var claimed = map.written
            for _ in 0..<random.number(1..<30) where network.outcome == nil {
                network.run(for: Double.random(in: 0..<0.5, using: &random))
                disturb(network, &random)
                always(network.scheduler.map.written.isSuperset(of: claimed), "nothing is forgotten (round \(round))")
                claimed = network.scheduler.map.written
            }
            if network.outcome == nil { network.run(limit: 100_000) }
            let outcome = network.outcome.map { "\($0)".prefix { $0 != "(" } }.map(String.init) ?? "none"
            outcomes[outcome, default: 0] += 1
            if network.outcome == .finished { always(network.file.count == total, "every byte (round \(round))") }
        }
        print(outcomes)
        #expect(outcomes["finished", default: 0] > 100)
        #expect(outcomes["none"] == nil)
    }

    /// A test in which the service or the machine crashes repeatedly. The next run continues only bytes that the
    /// checkpoints prove.
    @Test func `After random crashes the next run continues only bytes that checkpoints prove`() throws {
        let seed = ExchangeRandom.printedSeed("crashes")
        var random = ExchangeRandom(seed: seed)
        for round in 0..<60 {
            let total = Int64(random.number(5_000_000..<20_000_000))
            var map = SegmentMap(total: total, count: 0, synced: 0)
            var received: Int64 = 0
            var lost: Int64 = 0
            for attempt in 0..<100 {
                var script = SegmentNetwork.Script()
                script.rate = { number, _ in number.isMultiple(of: 3) ? 500_000 : 5_000_000 }
                let network = SegmentNetwork(script, map: map, limits: SegmentLimits(connectionsPerHost: 4))
                network.start()
                network.run(for: attempt < 20 ? Double.random(in: 0..<1, using: &random) : .infinity)
                var claim = network.scheduler.map
                if random.chance(0.5) { claim.sync(claim.written) }
                received += network.received
                map = claim.surviving(sameBoot: random.chance(0.7), fileLength: network.file.end)
                lost += network.file.count - map.count
                always(network.file.isSuperset(of: map.written), "only written bytes are claimed (round \(round))")
                if map.isComplete { break }
            }
            always(map.isComplete, "it ends (round \(round))")
            always(received <= total + lost + 4_000_000, "\(received) of \(total) came, \(lost) were lost")
        }
    }

    private func script(_ random: inout ExchangeRandom) -> SegmentNetwork.Script {
        var script = SegmentNetwork.Script()
        let salt = UInt64.random(in: 0...UInt64.max, using: &random)
        /// Returns a random number generator that depends only on the number and the kind.
        func chance(_ number: Int, _ kind: UInt64) -> ExchangeRandom {
            ExchangeRandom(seed: salt ^ (UInt64(number) << 8 | kind))
        }
        script.latency = Double.random(in: 0..<0.5, using: &random)
        let stalls = random.chance(0.3)
        script.rate = { number, time in
            var own = chance(number, 1)
            let rate = Double(own.number(300_000..<10_000_000))
            return stalls && own.chance(0.3) && time > own.next(upTo: 5) ? 0 : rate
        }
        if random.chance(0.3) { script.total = { _ in 3_000_000 } }
        if random.chance(0.3) { script.cap = Int64(random.number(100_000..<5_000_000)) }
        if random.chance(0.2) { script.refusesBeyond = random.number(1..<4) }
        if random.chance(0.2) { script.early = Int64(random.number(1..<100_000)) }
        if random.chance(0.4) {
            script.dies = { number in
                var own = chance(number, 2)
                return own.chance(0.4) ? Int64(own.number(0..<3_000_000)) : nil
            }
        }
        if random.chance(0.3) {
            let answers: [SegmentEnd] = [
                .distrusted("a lie"), .refused("not found"), .again, .failed, .busy(until: nil), .complete,
            ]
            script.answer = { number in
                var own = chance(number, 3)
                guard own.chance(0.3) else { return nil }
                return answers[own.number(0..<answers.count)]
            }
        }
        return script
    }

    private func disturb(_ network: SegmentNetwork, _ random: inout ExchangeRandom) {
        guard network.outcome == nil else { return }
        switch random.number(0..<6) {
        case 0: network.reportProgress()
        case 1:
            guard let id = network.running.keys.sorted().randomElement(using: &random) else { return }
            network.end(id, .failed)
        case 2:
            network.change(
                SegmentLimits(
                    connectionsPerHost: random.number(1..<7), forced: nil, isDiscretionary: random.chance(0.2)))
        default: break
        }
    }
}

extension ExchangeRandom {
    mutating func next(upTo bound: Double) -> Double { Double.random(in: 0..<bound, using: &self) }
}
