import NightshiftAPI
import Scheduler
import Testing

/// Tests of the decision on whether a transfer is slow, and of the time for which a slow transfer keeps its slot.
@Suite struct PaceTests {
    private static let rate = Pace.leastRate

    @Test func `T2: A transfer that receives no bytes is slow after a second`() {
        var pace = Pace(count: 0, at: 10)
        #expect(pace.read(0, at: 10.5, minimum: Self.rate) == false)
        #expect(pace.read(0, at: 11, minimum: Self.rate) == true)
        #expect(pace.slowSince == 11)
        #expect(pace.read(0, at: 12, minimum: Self.rate) == false && pace.slowSince == 11)
    }

    @Test func `T2: A transfer is slow at two bytes per second, but not at a kilobyte per second`() {
        var (drip, flow) = (Pace(count: 0, at: 0), Pace(count: 0, at: 0))
        for second in 1...100 {
            _ = drip.read(Int64(2 * second), at: Double(second), minimum: Self.rate)
            _ = flow.read(Int64(1_024 * second), at: Double(second), minimum: Self.rate)
            #expect(drip.isSlow && !flow.isSlow)
        }
        #expect(drip.slowSince == 1 && flow.isSteady)
    }

    @Test func `T2: A transfer becomes slow three seconds after a burst, but not after one second`() {
        var pace = Pace(count: 0, at: 0)
        _ = pace.read(1 << 20, at: 1, minimum: Self.rate)
        #expect(!pace.read(1 << 20, at: 2, minimum: Self.rate) && !pace.isSlow)
        #expect(pace.read(1 << 20, at: 4, minimum: Self.rate) && pace.isSlow)
        #expect(pace.read(2 << 20, at: 5, minimum: Self.rate) && !pace.isSlow)
    }

    @Test func `T2: Discarded bytes and sleep of the machine make a transfer slow only for a while`() {
        var pace = Pace(count: 5_000_000, at: 0)
        _ = pace.read(0, at: 0.5, minimum: Self.rate)
        #expect(!pace.isSlow)
        _ = pace.read(1 << 20, at: 40_000, minimum: Self.rate)
        #expect(pace.isSlow)
        _ = pace.read(2 << 20, at: 40_001, minimum: Self.rate)
        #expect(!pace.isSlow)
    }

    @Test func `T2: A rate limit that the user sets lowers the minimum rate of a transfer`() {
        #expect(Pace.minimum(ownLimit: nil, serviceLimit: nil, transfers: 32) == Pace.leastRate)
        #expect(Pace.minimum(ownLimit: 100, serviceLimit: nil, transfers: 32) == 50)
        #expect(Pace.minimum(ownLimit: nil, serviceLimit: 6_400, transfers: 32) == 100)
        #expect(Pace.minimum(ownLimit: 1, serviceLimit: 1, transfers: 256) == 1)
        #expect(Pace.minimum(ownLimit: 1 << 30, serviceLimit: 1 << 30, transfers: 32) == Pace.leastRate)
    }

    @Test(
        arguments: [
            (nil, nil, 1, 0), (300, nil, 1, 109.2), (nil, 300, 1, 109.2), (nil, 300, 3, 327.7), (100, 300, 1, 327.7),
            (nil, 1_048_576, 1, 0.03), (1, 1, 0, 32_768),
        ] as [(Int64?, Int64?, Int, Double)])
    func `A rate limit leaves a transfer without bytes for twice the time of a piece`(
        own: Int64?, service: Int64?, running: Int, seconds: Double
    ) {
        #expect(abs(Pace.gap(ownLimit: own, serviceLimit: service, running: running) - seconds) < 0.1)
    }

    @Test func `A transfer that waits for the user's rate limit is not slow`() {
        let minimum = Pace.minimum(ownLimit: nil, serviceLimit: 300, transfers: 1)
        let gap = Pace.gap(ownLimit: nil, serviceLimit: 300, running: 1)
        var (limited, silent) = (Pace(count: 0, at: 0), Pace(count: 0, at: 0))
        // One piece arrives every 54 seconds.
        for second in 1...500 {
            let pieces = Int64(saturating: Double(second) * 300 / Pace.pieceBytes)
            _ = limited.read(
                pieces * Int64(saturating: Pace.pieceBytes), at: Double(second), minimum: minimum, gap: gap)
            _ = silent.read(0, at: Double(second), minimum: minimum, gap: gap)
            #expect(!limited.isSlow, "second \(second)")
        }
        #expect(silent.slowSince == 111)
        // Without the limit, the transfer has no debt from before.
        _ = silent.read(1 << 20, at: 501, minimum: Pace.leastRate)
        #expect(!silent.isSlow)
    }

    @Test func `T2: A slow transfer keeps its slot for longer each time`() {
        var history = YieldHistory()
        let task = TaskID(1)
        var slices: [Double] = []
        var pauses: [Double] = []
        for _ in 0..<6 {
            slices.append(history.slice(of: task, losesBytes: false))
            pauses.append(history.yielded(task, at: 0))
        }
        #expect(slices == [10, 20, 40, 80, 80, 80] && pauses == [10, 20, 40, 60, 60, 60])
        // A transfer that has to restart gets more time than one that resumes.
        #expect(history.slice(of: task, losesBytes: true) == 160)
        #expect(history.isLast(task, at: YieldHistory.longestLast - 1))
        #expect(!history.isLast(task, at: YieldHistory.longestLast) && !history.isLast(TaskID(2), at: 0))
        history.forget(task)
        #expect(history.slice(of: task, losesBytes: true) == 10)
        for number in 0..<Int64(3 * YieldHistory.most) { _ = history.yielded(TaskID(number), at: 0) }
        #expect(history.slice(of: TaskID(Int64(3 * YieldHistory.most) - 1), losesBytes: false) == 20)
    }
}
