import Store
import Testing
import Transfers

/// Tests of single decisions of the scheduler.
@Suite struct SegmentSchedulerTests {
    static let mebibyte: Int64 = 1 << 20
    static let first = ConnectionID(0)
    static let second = ConnectionID(1)

    static func scheduler(
        forced: Int? = nil, perHost: Int = 6, isDiscretionary: Bool = false, sources: Int = 1, mebibytes: Int64 = 64
    ) -> SegmentScheduler {
        SegmentScheduler(
            map: SegmentMap(total: mebibytes * mebibyte, count: 0, synced: 0),
            limits: SegmentLimits(connectionsPerHost: perHost, forced: forced, isDiscretionary: isDiscretionary),
            sources: sources, now: 0)
    }

    /// Returns a scheduler with two connections that have just received their first bytes.
    static func two() -> SegmentScheduler {
        var scheduler = scheduler(forced: 2)
        _ = scheduler.adopt(position: 0, servedEnd: 64 * mebibyte, begunAt: 0, answeredAt: 0.1, now: 0.1)
        _ = scheduler.answered(second, served: 32 * mebibyte..<64 * mebibyte, now: 0.2)
        return scheduler
    }

    @Test func `A large download begins with two connections`() {
        var scheduler = Self.scheduler()
        let actions = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        #expect(actions.count == 1 && scheduler.segments.count == 2)
        #expect(
            scheduler.segments.first?.range.lowerBound == 0 && scheduler.segments.last?.range.upperBound == 64 << 20)
    }

    @Test(arguments: [(1, 64, 1), (4, 64, 4), (4, 9, 2), (20, 64, 6)])
    func `A download begins with the number that was useful before`(useful: Int, mebibytes: Int64, expected: Int) {
        var scheduler = SegmentScheduler(
            map: SegmentMap(total: mebibytes << 20, count: 0, synced: 0),
            limits: SegmentLimits(connectionsPerHost: 6, useful: useful), now: 0)
        _ = scheduler.adopt(position: 0, servedEnd: mebibytes << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        #expect(scheduler.segments.count == expected)
    }

    @Test func `A download of less than 16 MiB begins with one connection`() {
        var scheduler = Self.scheduler(mebibytes: 15)
        #expect(scheduler.adopt(position: 0, servedEnd: 15 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1).isEmpty)
        #expect(scheduler.segments.map(\.range) == [0..<15 << 20])
        #expect(scheduler.nextDeadline.map { $0 > 0.1 && $0 < 0.3 } == true)
    }

    @Test func `A discretionary download stays at one connection`() {
        var scheduler = Self.scheduler(forced: 4, isDiscretionary: true)
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        for step in 1..<60 {
            let actions = scheduler.progressed([Self.first: Int64(step) * 1_000_000], now: Double(step))
            #expect(actions.isEmpty)
        }
    }

    /// A test in which both connections end at the same time. They would not if each got half of the bytes.
    @Test func `Two connections share the rest of the file so that both end at the same time`() {
        var scheduler = Self.scheduler(forced: 2, sources: 1)
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        _ = scheduler.answered(Self.second, served: 32 << 20..<64 << 20, now: 0.2)
        var slow: Int64 = 0
        var fast: Int64 = 32 << 20
        var now = 0.2
        while fast < 64 << 20 {
            now += 0.1
            slow += 200_000
            fast = min(64 << 20, fast + 1_000_000)
            _ = scheduler.progressed([Self.first: slow, Self.second: fast], now: now)
        }
        let actions = scheduler.ended(Self.second, position: fast, .complete, now: now)
        guard case .begin(let third, _, let range)? = actions.last else {
            Issue.record("\(actions)")
            return
        }
        let left = Double(range.lowerBound - slow) / 2_000_000
        let taken = Double(range.count) / 10_000_000
        #expect(abs(left - taken - 0.1) < 0.2, "\(left) s and \(taken) s, which begin a tenth later")
        // The working connection is shortened when the other one has a response, not before.
        #expect(actions.count == 1)
        let answered = scheduler.answered(third, served: range, now: now + 0.1)
        #expect(answered.first == .setEnd(Self.first, range.lowerBound))
    }

    /// A test in which a connection writes bytes of another connection's part while that one has no response.
    @Test func `A connection also fetches another connection's part until the other gets a response`() {
        var scheduler = Self.scheduler(forced: 2)
        let begun = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        guard case .begin(Self.second, _, let range)? = begun.last else {
            Issue.record("\(begun)")
            return
        }
        #expect(scheduler.progressed([Self.first: range.lowerBound + 5_000_000], now: 0.4).isEmpty)
        #expect(scheduler.map.prefix == range.lowerBound + 5_000_000)
        #expect(
            scheduler.answered(Self.second, served: range, now: 0.5) == [.setEnd(Self.first, range.lowerBound)])
        _ = scheduler.progressed([Self.second: 64 << 20], now: 1)
        #expect(scheduler.map.isComplete)
    }

    @Test func `A download with gaps is resumed at the first gap`() {
        var map = SegmentMap(total: 100 << 20, count: 10 << 20, synced: 0)
        map.write(20 << 20..<30 << 20)
        var scheduler = SegmentScheduler(map: map, limits: SegmentLimits(connectionsPerHost: 6), now: 5)
        #expect(scheduler.start(now: 5) == [.begin(Self.first, source: 0, range: 10 << 20..<20 << 20)])
        #expect(scheduler.answered(Self.first, served: 10 << 20..<20 << 20, now: 5.1).isEmpty)
        let next =
            scheduler.progressed([Self.first: 20 << 20], now: 5.2)
            + scheduler.ended(Self.first, position: 20 << 20, .complete, now: 5.2)
        #expect(next == [.begin(Self.second, source: 0, range: 30 << 20..<100 << 20)])
        #expect(scheduler.map.prefix == 30 << 20)
    }

    @Test func `A download falls back to a plain exchange if its only connection is distrusted`() {
        var map = SegmentMap(total: 100 << 20, count: 10 << 20, synced: 0)
        map.write(20 << 20..<30 << 20)
        var scheduler = SegmentScheduler(map: map, limits: SegmentLimits(connectionsPerHost: 6), now: 5)
        _ = scheduler.start(now: 5)
        #expect(
            scheduler.ended(Self.first, position: 10 << 20, .distrusted("changed"), now: 6)
                == [.fallBack(reason: "changed")])
        #expect(scheduler.isOver && scheduler.nextDeadline == nil)
        #expect(scheduler.map.cutToPrefix().prefix == 10 << 20)
        #expect(scheduler.start(now: 7).isEmpty)
    }

    /// A test in which the second connection makes wrong claims, and the first continues to the end of the file.
    @Test func `The first connection finishes the file when the second is distrusted`() {
        var scheduler = Self.scheduler(forced: 2)
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        #expect(
            scheduler.ended(Self.second, position: 32 << 20, .distrusted("another version"), now: 0.3)
                == [.single(reason: "another version"), .setEnd(Self.first, 64 << 20)])
        #expect(scheduler.progressed([Self.first: 64 << 20], now: 5) == [.stop(Self.first, .finished), .finished])
    }

    /// A test in which the task handles the server's refusal, and the bytes after a gap stay.
    @Test func `The bytes after gaps stay on disk when the server refuses the only connection`() {
        var map = SegmentMap(total: 100 << 20, count: 10 << 20, synced: 0)
        map.write(20 << 20..<30 << 20)
        var scheduler = SegmentScheduler(map: map, limits: SegmentLimits(connectionsPerHost: 6), now: 5)
        _ = scheduler.start(now: 5)
        #expect(scheduler.ended(Self.first, position: 10 << 20, .refused("not found"), now: 6) == [.refused])
        #expect(scheduler.isOver && scheduler.nextDeadline == nil)
        #expect(scheduler.map.count == 20 << 20)
    }

    /// A test of a server whose connection limit looks like a refusal. Connections without a response may still bring
    /// parts.
    @Test func `A refusal ends the download only if no other connection is left`() {
        for flows in [true, false] {
            var scheduler = Self.scheduler(forced: 2)
            if flows {
                _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
            } else {
                _ = scheduler.start(now: 0.1)
            }
            let actions = scheduler.ended(Self.second, position: 32 << 20, .refused("forbidden"), now: 0.3)
            #expect(actions.contains(.single(reason: "forbidden")) && !actions.contains(.refused), "\(actions)")
            #expect(!flows || actions.contains(.setEnd(Self.first, 64 << 20)))
            // The remaining connection breaks, and its replacement is refused, too.
            let next = scheduler.ended(Self.first, position: 0, .failed, now: 0.4)
            guard case .begin(let third, source: 0, _)? = next.last else {
                Issue.record("\(next)")
                continue
            }
            #expect(scheduler.ended(third, position: 0, .refused("forbidden"), now: 0.5) == [.refused])
        }
    }

    @Test func `The scheduler drops a mirror that refuses a request`() {
        var scheduler = Self.scheduler(forced: 2, sources: 2)
        let begun = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        guard case .begin(Self.second, source: 1, let range)? = begun.last else {
            Issue.record("\(begun)")
            return
        }
        let actions = scheduler.ended(Self.second, position: range.lowerBound, .refused("not found"), now: 0.3)
        #expect(actions.first == .dropSource(1, reason: "not found"))
        #expect(!scheduler.isOver)
    }

    @Test func `The scheduler does not open a second connection again that the server rejects as busy`() {
        var scheduler = Self.scheduler(forced: 2)
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        #expect(
            scheduler.ended(Self.second, position: 32 << 20, .busy(until: nil), now: 1) == [
                .limitHost(source: 0, connections: 1, until: 601), .setEnd(Self.first, 64 << 20),
            ])
        for step in 1..<60 {
            #expect(scheduler.progressed([Self.first: Int64(step) * 1_000_000], now: 1 + Double(step)).isEmpty)
        }
    }

    @Test func `The only connection waits for the time that a busy server requests`() {
        var scheduler = Self.scheduler()
        _ = scheduler.start(now: 0)
        #expect(
            scheduler.ended(Self.first, position: 0, .busy(until: 30), now: 1) == [.exhausted(notBefore: 30)])
    }

    @Test func `A download whose fifth connection is rejected continues with four connections`() {
        var scheduler = Self.scheduler(forced: 5)
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        for segment in scheduler.segments.prefix(4).dropFirst() {
            _ = scheduler.answered(segment.id, served: segment.range, now: 0.2)
        }
        let actions = scheduler.ended(ConnectionID(4), position: 0, .busy(until: nil), now: 0.3)
        #expect(actions.first == .limitHost(source: 0, connections: 4, until: 600.3))
        #expect(scheduler.segments.count == 4)
    }

    @Test func `The scheduler pauses the download after repeated failures without any bytes`() {
        var scheduler = Self.scheduler()
        #expect(scheduler.start(now: 0).count == 1)
        #expect(scheduler.ended(Self.first, position: 0, .failed, now: 1).count == 1, "the first may be chance")
        #expect(scheduler.ended(Self.second, position: 0, .failed, now: 2) == [.exhausted(notBefore: 2.5)])
    }

    @Test func `The download falls back to a plain exchange after every form of request was rejected`() {
        var scheduler = Self.scheduler()
        _ = scheduler.start(now: 0)
        for number in 0..<3 {
            let actions = scheduler.ended(ConnectionID(number), position: 0, .again, now: 1)
            #expect(actions == [.begin(ConnectionID(number + 1), source: 0, range: 0..<64 << 20)])
        }
        guard case .fallBack? = scheduler.ended(ConnectionID(3), position: 0, .again, now: 1).first else {
            Issue.record("three ways are all")
            return
        }
    }

    @Test func `The scheduler stops using a mirror whose file does not match`() {
        var scheduler = Self.scheduler(forced: 2, sources: 2)
        let begun = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        #expect(begun.last == .begin(Self.second, source: 1, range: 33_619_968..<64 << 20))
        let actions = scheduler.ended(Self.second, position: 0, .distrusted("another length"), now: 0.3)
        #expect(actions.first == .dropSource(1, reason: "another length"))
        #expect(actions.contains { if case .begin(_, source: 0, _) = $0 { true } else { false } })
    }

    @Test func `A lower limit stops the surplus connection and keeps its bytes on disk`() {
        var scheduler = Self.two()
        let actions = scheduler.change(SegmentLimits(connectionsPerHost: 1), now: 0.3)
        #expect(actions == [.stop(Self.second, .surplus)])
        #expect(scheduler.ended(Self.second, position: 34 << 20, .stopped, now: 0.4).isEmpty)
        #expect(scheduler.segments.map(\.id) == [Self.first])
        #expect(scheduler.map.written.ranges == [32 << 20..<34 << 20], "what it had brought stays")
    }

    /// A test of a connection that is less than a tenth as fast as the other one. The scheduler replaces it after its
    /// first second.
    @Test func `A connection that is far slower than the other is replaced`() {
        var scheduler = Self.two()
        var stops: [SegmentAction] = []
        for step in 1..<15 {
            let positions = [
                Self.first: Int64(step) * 50_000, Self.second: Int64(33_619_968) + Int64(step) * 1_000_000,
            ]
            stops += scheduler.progressed(positions, now: 0.2 + Double(step) / 10)
            if step == 7 { #expect(stops.isEmpty, "not before its second is over") }
        }
        #expect(stops == [.stop(Self.first, .slow)])
    }

    @Test func `The scheduler ignores silence during a long gap between its readings`() {
        var scheduler = Self.two()
        _ = scheduler.progressed([Self.first: 1 << 20, Self.second: 33 << 20], now: 0.4)
        #expect(scheduler.progressed([Self.first: 1 << 20, Self.second: 33 << 20], now: 400).isEmpty)
        let silent = Self.silence(&scheduler, from: 400)
        #expect(silent.stopped == [Self.first, Self.second])
        #expect(silent.after >= 1.5, "what was not listened to counts: \(silent.after) s")
    }

    @Test func `The scheduler does not stop a connection that receives bytes`() {
        var scheduler = Self.two()
        _ = scheduler.progressed([Self.first: 1 << 20, Self.second: 33 << 20], now: 0.4)
        for look in 1...100 {
            let now = 0.4 + Double(look) / 10
            // In this copy of the scheduler, the first connection has received bytes at this reading.
            var other = scheduler
            let actions = other.progressed([Self.first: 2 << 20], now: now)
            #expect(!actions.contains(.stop(Self.first, .stalled)))
            if actions.contains(.stop(Self.second, .stalled)) { return }
            _ = scheduler.progressed([:], now: now)
        }
        Issue.record("the second was not stopped")
    }

    /// A test in which each reading is three times as late as it should be, so that two thirds of the silence do not
    /// count.
    @Test func `The scheduler counts silence between late readings on a busy machine only in part`() {
        var (quiet, busy) = (Self.two(), Self.two())
        let positions: [ConnectionID: Int64] = [Self.first: 1 << 20, Self.second: 33 << 20]
        _ = (quiet.progressed(positions, now: 0.4), busy.progressed(positions, now: 0.4))
        let (soon, late) = (Self.silence(&quiet, from: 0.4), Self.silence(&busy, from: 0.4, every: 0.3))
        #expect(soon.stopped == [Self.first, Self.second] && late.stopped == soon.stopped)
        #expect(late.after >= soon.after * 2, "\(late.after) s, and \(soon.after) s where somebody listens")
    }

    /// Returns the connections that the scheduler stops while both are silent, and the time until then. The silence
    /// begins at `start`, with a reading every `interval` seconds.
    private static func silence(
        _ scheduler: inout SegmentScheduler, from start: Double, every interval: Double = 0.1
    ) -> (stopped: [ConnectionID], after: Double) {
        for look in 1...100 {
            let now = start + Double(look) * interval
            let actions = scheduler.progressed([:], now: now)
            if !actions.isEmpty { return (actions.compactMap(\.stopped), now - start) }
        }
        return ([], .infinity)
    }

    /// A test in which the only connection with bytes is silent, and it is unknown whether the server supports ranges.
    @Test func `The only connection with bytes is not stopped until another connection receives a part`() {
        var scheduler = Self.scheduler()
        _ = scheduler.adopt(position: 0, servedEnd: 64 << 20, begunAt: 0, answeredAt: 0.1, now: 0.1)
        var begun: [(id: ConnectionID, range: Range<Int64>)] = []
        for look in 1...300 {
            let now = 0.1 + Double(look) / 10
            for action in scheduler.progressed([Self.first: 0], now: now) {
                #expect(action.stopped != Self.first, "\(now)")
                if case .begin(let id, _, let range) = action { begun.append((id, range)) }
                guard let stopped = action.stopped else { continue }
                _ = scheduler.ended(stopped, position: 0, .stopped, now: now)
                begun.removeAll { $0.id == stopped }
            }
            if look > 200, let asked = begun.first {
                let actions = scheduler.answered(asked.id, served: asked.range, now: now)
                #expect(actions.contains(.stop(Self.first, .stalled)), "a part has come: \(actions)")
                return
            }
        }
        Issue.record("nobody was asked beside it: \(begun)")
    }

    /// A test that reports about ended connections, and positions after the end, have no effect.
    @Test func `The scheduler ignores reports of ended connections, and positions after the end`() {
        var scheduler = Self.two()
        #expect(scheduler.ended(ConnectionID(9), position: 64 << 20, .complete, now: 1).isEmpty)
        #expect(scheduler.answered(Self.first, served: 0..<64 << 20, now: 1).isEmpty)
        #expect(scheduler.answered(ConnectionID(9), served: 0..<64 << 20, now: 1).isEmpty)
        _ = scheduler.progressed([ConnectionID(9): 64 << 20], now: 1)
        #expect(scheduler.map.count == 0)
        _ = scheduler.progressed([Self.first: 500 << 20], now: 1.1)
        #expect(scheduler.map.written.end == 64 << 20, "nothing lies after the end of the file")
    }

    @Test func `Bytes that are written during a sync do not count as synced`() {
        var scheduler = Self.two()
        _ = scheduler.progressed([Self.first: 1 << 20], now: 1)
        let claimed = scheduler.map.written
        _ = scheduler.progressed([Self.first: 2 << 20], now: 1.1)
        scheduler.synced(claimed)
        #expect(scheduler.map.synced == claimed && scheduler.map.written != claimed)
    }
}
