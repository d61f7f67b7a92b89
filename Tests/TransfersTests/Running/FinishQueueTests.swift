import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// Tests of the queue of complete files that wait for their names.
@Suite struct FinishQueueTests {
    @Test func `One caller publishes all files of the queue, in batches and in order`() {
        var queue = FinishQueue<Int>(batch: 2)
        #expect(queue.beginDraining() == false)
        for job in 1...3 {
            queue.begin(TaskID(Int64(job)))
            queue.append(job)
        }
        #expect(queue.beginDraining() == true)
        #expect(queue.beginDraining() == false)
        #expect(queue.nextBatch() == [1, 2])
        // The name of this file was taken in the meantime.
        queue.append(1)
        #expect(queue.nextBatch() == [3, 1])
        #expect(queue.nextBatch() == nil)
        #expect(queue.beginDraining() == false)
        #expect(queue.count == 3)
        queue.end(TaskID(2))
        #expect(!queue.contains(TaskID(2)) && queue.contains(TaskID(1)))
    }

    @Test func `The queue schedules a single later check for rows that could not be written`() {
        var queue = FinishQueue<Int>(batch: 2)
        #expect(queue.beginSettling() == true)
        #expect(queue.beginSettling() == false)
        queue.endSettling()
        #expect(queue.beginSettling() == true)
    }

    /// A test that compares the queue with a list: no file is lost, doubled or overtaken, and no file waits without a
    /// caller.
    @Test(arguments: 1...100) func `Each file is published exactly once, in any order of events`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var queue = FinishQueue<Int>(batch: 3)
        var published: [Int] = []
        var appended = 0
        var isCalled = false
        for _ in 0..<200 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                queue.append(appended)
                appended += 1
            case 1:
                let calls = queue.beginDraining()
                #expect(calls == (!isCalled && published.count < appended), "seed \(seed)")
                isCalled = isCalled || calls
            default:
                guard isCalled else { continue }
                if let batch = queue.nextBatch() { published += batch } else { isCalled = false }
            }
        }
        if queue.beginDraining() || isCalled {
            while let batch = queue.nextBatch() { published += batch }
        }
        #expect(published == Array(0..<appended), "seed \(seed)")
    }
}
