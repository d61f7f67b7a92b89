import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of partial bytes whose task no longer exists (mission row B2).
@Suite struct LeftoverTests {
    private let content = Content.seeded(size: 3 << 20, seed: 77)

    @Test func `T13: Removing a task keeps its bytes if another task continues them`() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        origin.serve("/file", Resource(content: content, behaviours: [.holdAfter(1 << 20, gate).times(1)]))
        try await service.start()
        let first = try await service.api.enqueue(.download(origin.url("/file"), to: service.scratch.path("to")))
        try await service.wait(first, for: "some bytes") { $0.countOfBytesReceived >= 1 << 20 }
        let cancelled: TaskStatus = try await service.api.post(
            "/v1/tasks/\(first)/cancel", CancelRequest(producingResumeData: true))
        let token: String = try #require(cancelled.resumeData)
        var next = TaskRequest(url: nil)
        next.resumeData = token
        next.suspended = true
        let second = try await service.api.enqueue(next)
        try await service.api.send("DELETE", "/v1/tasks/\(first)")
        try await service.api.send("POST", "/v1/tasks/\(second)/resume")
        let task = try await service.waitForEnd(second)
        #expect(task.state == .completed && task.restarts == 0)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        let range = try #require(origin.requests.last?.fields.first("Range"))
        #expect(range != "bytes=0-", "\(range)")
    }

    @Test(.enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm"), "needs a second file system"))
    func `B2: A kill at a task's end leaves no partial file next to the destination`() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        origin.serve("/file", Resource(content: content, behaviours: [.holdAfter(1 << 20, gate)]))
        try await service.start()
        let folder = "/dev/shm/nightshift-leftover-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var request = TaskRequest.download(origin.url("/file"), to: folder)
        request.checksum = Checksum(algorithm: .md5, hex: String(repeating: "0", count: 32))
        let id = try await service.api.enqueue(request)
        try await eventually("bytes beside the destination") { service.names(in: folder).count == 1 }
        let part = "\(folder)/\(try #require(service.names(in: folder).first))"
        gate.open()
        #expect(try await service.waitForEnd(id).state == .failed)
        try await eventually("their removal") { service.names(in: folder).isEmpty }
        // Simulates a kill between the commit and the removal.
        try await service.kill()
        try Data(count: 100).write(to: URL(filePath: part))
        try await service.start()
        try await eventually("their removal by the next service") { service.names(in: folder).isEmpty }
    }
}
