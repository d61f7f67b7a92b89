import TestSupport
import Testing
import Yielding

/// Tests of the control on simulated lines (B9).
@Suite struct YieldControllerTests {
    /// Lines of different rates, round trips and queues.
    struct Line: Sendable, CustomTestStringConvertible {
        var megabits: Double
        var milliseconds: Double
        var queue: Double

        var testDescription: String { "\(megabits) Mbit/s, \(milliseconds) ms, queue of \(queue) ms" }
        var bottleneck: Bottleneck { Bottleneck(megabits: megabits, milliseconds: milliseconds, queue: queue) }
    }

    static let lines = [5.0, 20, 100].flatMap { megabits in
        [1.0, 5, 80].flatMap { milliseconds in
            [50.0, 400].map { Line(megabits: megabits, milliseconds: milliseconds, queue: $0) }
        }
    }
    /// Lines on which a sender that keeps queues short makes a queue that can be measured.
    static let longLines = lines.filter { $0.milliseconds >= 80 }

    @Test("B9: Alone a route gets all of a line, with a short queue", arguments: lines)
    func alone(_ line: Line) {
        var bottleneck = line.bottleneck
        _ = bottleneck.run(5)
        var delays: [Double] = []
        let bytes = bottleneck.run(60) { delays.append($0.delay) }
        #expect(bytes >= 0.97 * bottleneck.capacity * 60)
        delays.sort()
        #expect(delays[delays.count * 95 / 100] <= 1.3 * bottleneck.controller.target)
        #expect(!bottleneck.controller.isYielding)
    }

    /// Lets a foreground transfer run beside a route that has used the whole line.
    ///
    /// - Returns: the share of the line that the foreground gets, and whether the route yields at the end.
    private func foreground(_ kind: Bottleneck.Other.Kind, on line: Line) -> (share: Double, isYielding: Bool) {
        var bottleneck = line.bottleneck
        _ = bottleneck.run(10)
        bottleneck.others = [.init(kind)]
        _ = bottleneck.run(20)
        let share = bottleneck.others[0].received / (bottleneck.capacity * 20)
        return (share, bottleneck.controller.isYielding)
    }

    @Test("B9: A foreground transfer gets at least nine tenths of a line", arguments: lines)
    func foreground(_ line: Line) {
        let (share, isYielding) = foreground(.lossBased, on: line)
        #expect(share >= 0.9)
        #expect(isYielding)
    }

    @Test("B9: Without timestamps, a route leaves most of a line to others, and takes it back", arguments: lines)
    func withoutTimestamps(_ line: Line) {
        var bottleneck = line.bottleneck
        bottleneck.hasTimestamps = false
        // An estimate needs several round trips, so a long route swings.
        let isLong = line.milliseconds >= 80
        _ = bottleneck.run(10)
        let alone = bottleneck.run(30)
        #expect(alone >= (isLong ? 0.8 : 0.95) * bottleneck.capacity * 30, "\(alone / bottleneck.capacity / 30)")
        bottleneck.others = [.init(.lossBased)]
        _ = bottleneck.run(20)
        let beside = bottleneck.others[0].received / bottleneck.capacity / 20
        #expect(beside >= (isLong ? 0.45 : 0.85), "\(beside)")
        bottleneck.others = []
        _ = bottleneck.run(5)
        let back = bottleneck.run(5) / bottleneck.capacity / 5
        #expect(back >= (isLong ? 0.6 : 0.9), "\(back)")
    }

    @Test("B9: A sender that keeps queues short gets at least 85 % of a line", arguments: longLines)
    func shortQueue(_ line: Line) {
        #expect(foreground(.paced, on: line).share >= 0.85)
    }

    @Test("B9: The line is used again two seconds after the foreground ends", arguments: lines, [1, 4, 8])
    func back(_ line: Line, connections: Int) {
        for kind in [Bottleneck.Other.Kind.lossBased, .paced] {
            var bottleneck = line.bottleneck
            bottleneck.connections = connections
            _ = bottleneck.run(10)
            bottleneck.others = [.init(kind)]
            _ = bottleneck.run(20)
            bottleneck.others = []
            _ = bottleneck.run(2)
            #expect(bottleneck.run(1) >= 0.9 * bottleneck.capacity)
        }
    }

    @Test("B9: A call is delayed by little more than the target", arguments: lines)
    func call(_ line: Line) {
        var bottleneck = line.bottleneck
        bottleneck.others = [.init(.constant(125_000))]
        _ = bottleneck.run(5)
        var delays: [Double] = []
        _ = bottleneck.run(30) { delays.append($0.delay) }
        delays.sort()
        #expect(delays[delays.count * 95 / 100] <= 1.3 * bottleneck.controller.target)
    }

    @Test func `B9: A small share of the line is guaranteed after a long time`() {
        var settings = YieldSettings()
        settings.guaranteedShare = 0.05
        settings.patience = 30
        var bottleneck = Bottleneck(megabits: 100, milliseconds: 20, queue: 200, settings)
        _ = bottleneck.run(10)
        bottleneck.others = [.init(.lossBased)]
        _ = bottleneck.run(25)
        let before = bottleneck.run(5)
        _ = bottleneck.run(5)
        let after = bottleneck.run(5)
        #expect(before < 0.01 * bottleneck.capacity * 5)
        // The largest rate is forgotten with time, so the share becomes smaller.
        #expect(after > 0.02 * bottleneck.capacity * 5)
    }

    @Test func `B9: A window that the sender does not use does not grow`() {
        var bottleneck = Bottleneck(megabits: 100, milliseconds: 20, queue: 200)
        bottleneck.senderRate = 250_000
        #expect(bottleneck.run(30) >= 0.97 * 250_000 * 30)
        #expect(bottleneck.controller.window < 40_000)
    }

    @Test func `B9: On a very short route the receiver is woken for many segments at a time`() {
        var bottleneck = Bottleneck(megabits: 1_000, milliseconds: 0.05, queue: 50)
        bottleneck.senderRate = 0.8 * bottleneck.capacity
        #expect(bottleneck.run(5) >= 0.97 * bottleneck.senderRate * 5)
        #expect(bottleneck.controller.window >= 0.001 * bottleneck.senderRate)
        #expect(bottleneck.delay <= bottleneck.controller.target)
    }

    @Test func `B9: A line that becomes slower or longer is used again after a while`() {
        var slower = Bottleneck(megabits: 50, milliseconds: 20, queue: 200)
        _ = slower.run(20)
        slower.capacity /= 5
        _ = slower.run(60)
        #expect(slower.run(10) >= 0.9 * slower.capacity * 10)
        var longer = Bottleneck(megabits: 50, milliseconds: 20, queue: 200)
        _ = longer.run(20)
        longer.base = 0.1
        // The minimum of the round trip is kept for five minutes.
        _ = longer.run(360)
        #expect(longer.run(10) >= 0.9 * longer.capacity * 10)
    }

    @Test func `B9: After a pause of the device the route is measured again`() throws {
        var controller = YieldController(now: 0)
        for step in 1...100 {
            controller.update(YieldSample(roundTrip: 0.02, bytes: 50_000), now: Double(step) / 20)
        }
        #expect(try #require(controller.baseDelay) == 0.02)
        controller.update(YieldSample(roundTrip: 0.3, bytes: 50_000), now: 3_600)
        #expect(try #require(controller.baseDelay) == 0.3)
    }

    @Test func `B9: A window without a measured round trip does not change`() {
        var controller = YieldController(now: 0)
        let before = controller.window
        for step in 1...100 {
            controller.update(YieldSample(roundTrip: nil, bytes: 1_000), now: Double(step) / 20)
        }
        #expect(controller.window == before && controller.roundTrip == nil)
    }

    @Test func `B9: Random measurements never produce a window or target outside of the limits`() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var controller = YieldController(now: 5)
            var now = 5.0
            for _ in 0..<2_000 {
                // Now and then the time stands still or jumps.
                now += [0, 0.01, 0.05, 0.05, 0.05, 2, 400].randomElement(using: &random) ?? 0
                let roundTrip = Bool.random(using: &random) ? nil : Double.random(in: 0...2, using: &random)
                let bytes = Int64.random(in: 0...10_000_000, using: &random)
                let segment = Int.random(in: 0...65_535, using: &random)
                controller.update(YieldSample(roundTrip: roundTrip, bytes: bytes, segment: segment), now: now)
                guard (500...1.1e9).contains(controller.window), (0.002...0.04).contains(controller.target),
                    controller.delay >= 0, controller.delay.isFinite, controller.rate.isFinite
                else {
                    Issue.record("seed \(seed): \(controller)")
                    return
                }
            }
        }
    }
}
