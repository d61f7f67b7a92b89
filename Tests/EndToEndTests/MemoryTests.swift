import Foundation
import NightshiftAPI
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct MemoryTests {
    @Test func `The service returns memory of large requests to the system`() async throws {
        let service = try Service()
        try await service.start()
        defer { service.process?.kill(SIGKILL) }
        let pid = try #require(service.process?.pid)
        let before = try ProcessMemory.anonymous(of: pid)
        let tasks = (0..<1_200).map { number in
            var task = TaskRequest.download("http://127.0.0.1:9/\(number)", to: service.scratch.path("to"))
            task.suspended = true
            return task
        }
        // Such a request takes about 5 MiB while it is read and stored. Concurrent requests take this memory from the
        // heaps of many threads.
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let count = try await service.api.enqueue(tasks).count
                    #expect(count == tasks.count)
                }
            }
            try await group.waitForAll()
        }
        try await eventually("the memory to be given back") {
            try ProcessMemory.anonymous(of: pid) - before < 16 << 20
        }
    }
}
