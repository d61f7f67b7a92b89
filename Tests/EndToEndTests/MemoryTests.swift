import Foundation
import NightshiftAPI
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct MemoryTests {
    @Test func `What large requests took goes back to the system`() async throws {
        let service = try Service()
        try await service.start()
        defer { service.process?.kill(SIGKILL) }
        let pid = try #require(service.process?.pid)
        let before = try ProcessMemory.anonymous(of: pid)
        for _ in 0..<4 {
            let tasks = (0..<5_000).map { number in
                var task = TaskRequest.download("http://127.0.0.1:9/\(number)", to: service.scratch.path("to"))
                task.suspended = true
                return task
            }
            #expect(try await service.api.enqueue(tasks).count == tasks.count)
        }
        // Such a request takes some 20 MiB while it is read and written down.
        try await eventually("the memory to be given back") {
            try ProcessMemory.anonymous(of: pid) - before < 16 << 20
        }
    }
}
