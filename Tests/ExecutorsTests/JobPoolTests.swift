import TestSupport
import Testing

@testable import Executors

/// Tests of the threads that run Swift's jobs.
@Suite(.timeLimit(.minutes(20))) struct JobPoolTests {
    /// If this fails with a new version of Swift, ``QuietRuntime`` has to be checked with it. Until then, the service
    /// works on libdispatch, and wakes up each second.
    @Test func `This version of Swift offers the interface for the service's own threads`() {
        #if compiler(>=6.3) && compiler(<6.4)
        #else
            Issue.record("QuietRuntime has no effect with this compiler")
        #endif
    }

    #if compiler(>=6.3) && compiler(<6.4)
        private actor Counter {
            var count = 0
            func add() { count += 1 }
        }

        @Test func `The threads run all jobs of many tasks and actors`() async {
            let counters = (0..<10).map { _ in Counter() }
            let pool = JobPool()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<5_000 {
                    group.addTask(executorPreference: pool) {
                        await counters[number % 10].add()
                        await Task.yield()
                        await counters[(number + 1) % 10].add()
                    }
                }
            }
            var counts: [Int] = []
            for counter in counters { counts.append(await counter.count) }
            #expect(counts == Array(repeating: 1_000, count: 10))
        }

        @Test func `A task sleeps for its time`() async throws {
            let slept = try await Task(executorPreference: JobPool()) {
                let start = ContinuousClock.now
                try await passTime(.milliseconds(20), because: "The time that passes is what is tested.")
                return start.duration(to: .now)
            }.value
            #expect(slept >= .milliseconds(20))
        }
    #endif
}
