import Dispatch
import Executors
import TestSupport
import Testing

/// Tests of the queues for blocking calls.
@Suite(.timeLimit(.minutes(20))) struct WorkQueueTests {
    @Test func `A queue runs its work in the order in which it was added`() async throws {
        let queue = WorkQueue()
        let order = Watched<[Int]>([])
        for number in 0..<2_000 { queue.add { order.update { $0.append(number) } } }
        #expect(await queue.run { order.read { $0 } } == Array(0..<2_000))
        try await eventually("an idle queue") { queue.isIdle }
    }

    @Test(arguments: [1, 3]) func `A queue never runs more calls than its width`(width: Int) async throws {
        let queue = WorkQueue(width: width)
        let counts = Watched((running: 0, most: 0, ended: 0))
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<20 {
            queue.add {
                counts.update {
                    $0.running += 1
                    $0.most = max($0.most, $0.running)
                }
                gate.wait()
                counts.update {
                    $0.running -= 1
                    $0.ended += 1
                }
            }
        }
        try await counts.wait(for: "as many calls as the width") { $0.running == width }
        for _ in 0..<20 { gate.signal() }
        try await counts.wait(for: "all calls") { $0.ended == 20 }
        #expect(counts.read { $0.most } == width)
    }

    @Test func `A call that never returns does not delay another queue`() async throws {
        let (stuck, other) = (WorkQueue(), WorkQueue())
        let gate = DispatchSemaphore(value: 0)
        stuck.add { gate.wait() }
        #expect(await other.run { 7 } == 7)
        #expect(!stuck.isIdle)
        gate.signal()
        try await eventually("an idle queue") { stuck.isIdle }
    }

    @Test func `Many queues that become idle and busy again lose no work`() async {
        let queues = (0..<20).map { _ in WorkQueue() }
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<10_000 { group.addTask { await queues[number % 20].run { number } } }
            return await group.reduce(0, +)
        }
        #expect(sum == 10_000 * 9_999 / 2)
    }
}
