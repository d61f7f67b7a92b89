import NightshiftAPI
import TestSupport
import Testing
import Transfers

/// What has all its bytes, on the way to its name.
@Suite struct FinishQueueTests {
    @Test func `Batches come in order, and somebody is called once for all of them`() {
        var queue = FinishQueue<Int>(batch: 2)
        #expect(queue.beginDraining() == false)
        for job in 1...3 {
            queue.begin(TaskID(Int64(job)))
            queue.append(job)
        }
        #expect(queue.beginDraining() == true)
        #expect(queue.beginDraining() == false)
        #expect(queue.nextBatch() == [1, 2])
        // A name was taken meanwhile.
        queue.append(1)
        #expect(queue.nextBatch() == [3, 1])
        #expect(queue.nextBatch() == nil)
        #expect(queue.beginDraining() == false)
        #expect(queue.count == 3)
        queue.end(TaskID(2))
        #expect(!queue.contains(TaskID(2)) && queue.contains(TaskID(1)))
    }

    @Test func `Rows are looked at again once, however many could not be written`() {
        var queue = FinishQueue<Int>(batch: 2)
        #expect(queue.beginSettling() == true)
        #expect(queue.beginSettling() == false)
        queue.endSettling()
        #expect(queue.beginSettling() == true)
    }

    /// Against a list: nothing is lost, doubled or overtaken, and nothing waits with nobody called.
    @Test(arguments: 1...100) func `Whatever order things happen in, each file is published once`(_ seed: Int) {
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
