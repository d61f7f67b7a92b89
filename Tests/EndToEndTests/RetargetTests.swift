import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of another URL for the same bytes, with the real service, real connections and kills.
@Suite struct RetargetTests {
    private static let size: Int64 = 12 << 20
    private let content = Content.seeded(size: size, seed: 31)

    /// Serves the file at a URL that works for one connection, breaks after 4 MiB, and has expired for the next
    /// connection.
    private func serveExpiring(_ origin: OriginServer) {
        let behaviours: [Behaviour] = [.cutAfter(4 << 20).times(1), .status(403).skippingFirst(1)]
        origin.serve("/old", Resource(content: content, behaviours: behaviours))
    }

    @Test func `B2: A download continues at a new URL without losing bytes, even after kill -9`() async throws {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        serveExpiring(origin)
        // This is another server with the same file and a different tag.
        origin.serve("/new", Resource(content: content, etag: "\"other\"", behaviours: [.holdAfter(2 << 20, gate)]))
        try await service.start()
        let first = try await service.cli([
            "get", origin.url("/old"), "-d", service.scratch.path, "--checksum", "sha-256:\(content.sha256().hex)",
        ])
        #expect(first.code == 1 && first.errors.contains("403"), "\(first)")
        let failed = try #require(try await service.api.tasks().last)
        #expect(failed.state == .failed && failed.countOfBytesReceived >= 4 << 20)
        try await service.kill()
        try await service.start()
        let outcome = try await service.cli(["retarget", "\(failed.id)", origin.url("/new")])
        #expect(outcome.code == 0 && outcome.output == "\(failed.id): \(origin.url("/new"))\n", "\(outcome)")
        try await service.wait(failed.id, for: "more bytes") { $0.countOfBytesReceived >= 5 << 20 }
        try await service.kill()
        gate.open()
        try await service.start()
        let task = try await service.waitForEnd(failed.id)
        #expect(task.state == .completed && task.restarts == 0, "\(task)")
        #expect(try content.firstMismatch(inFileAt: try #require(task.file)) == nil)
        // The service only fetches the bytes again that it needs for the comparison.
        let ranges = origin.requests(for: "/new").compactMap { $0.fields.first("Range") }
        #expect(ranges.count >= 3 && ranges[0] == "bytes=\(4 << 20)-", "\(ranges)")
        #expect(ranges[1] == "bytes=\((4 << 20) - 65_536)-", "\(ranges)")
        let journal = try await service.api.why(failed.id).history.map(\.decision)
        #expect(journal.contains(.retargeted) && !journal.contains(.restarted), "\(journal)")
    }

    @Test func `B4: The service splits a download after it has compared the files, and gets no part twice`()
        async throws
    {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        serveExpiring(origin)
        origin.serve(
            "/new", Resource(content: content, etag: "\"other\"", behaviours: [.throttle(bytesPerSecond: 1 << 20)]))
        try await service.start()
        var request = failing(origin.url("/old"), to: service.scratch.path)
        request.connections = 4
        request.checksum = Checksum(algorithm: .sha256, hex: content.sha256().hex)
        let id = try await service.api.enqueue(request)
        let failed = try await service.waitForEnd(id)
        try await service.api.post(
            "/v1/tasks/\(id)/retarget", RetargetRequest(url: origin.url("/new")), as: TaskStatus.self)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.restarts == 0, "\(task)")
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        let history = try await service.api.why(id).history.map(\.decision)
        #expect(history.contains(.divided), "\(history)")
        let missing = Self.size - failed.countOfBytesReceived
        #expect(origin.bodyBytesSent(for: "/new") < missing + 2 << 20, "\(missing)")
    }

    @Test func `B2: The service downloads another file at the new URL from the start`() async throws {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        serveExpiring(origin)
        let other = Content.seeded(size: Self.size, seed: 32)
        origin.serve("/other", Resource(content: other))
        try await service.start()
        let id = try await service.api.enqueue(failing(origin.url("/old"), to: service.scratch.path))
        #expect(try await service.waitForEnd(id).error?.status == 403)
        try await service.api.post(
            "/v1/tasks/\(id)/retarget", RetargetRequest(url: origin.url("/other")), as: TaskStatus.self)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.restarts == 1, "\(task)")
        #expect(try other.firstMismatch(inFileAt: task.file ?? "") == nil)
        let history = try await service.api.why(id).history
        #expect(history.contains { $0.detail?.contains("nothing proves") == true })
    }

    @Test func `B2: A checksum detects a difference that the comparison of bytes cannot`() async throws {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        serveExpiring(origin)
        var bytes = content.bytes(0..<Self.size)
        bytes[100] ^= 1
        origin.serve("/almost", Resource(content: .bytes(bytes), etag: "\"almost\""))
        try await service.start()
        var request = failing(origin.url("/old"), to: service.scratch.path)
        request.checksum = Checksum(algorithm: .sha256, hex: Content.bytes(bytes).sha256().hex)
        let id = try await service.api.enqueue(request)
        try await service.waitForEnd(id)
        try await service.api.post(
            "/v1/tasks/\(id)/retarget", RetargetRequest(url: origin.url("/almost")), as: TaskStatus.self)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.restarts == 1, "\(task)")
        #expect(try fileBytes(task.file ?? "") == bytes)
    }

    @Test func `B7: A paused download gets another destination; after its first bytes, its directory stays`()
        async throws
    {
        let (service, origin, gate) = (try Service(), try OriginServer(sendBuffer: 65_536), Gate())
        defer { gate.open() }
        origin.serve("/f", Resource(content: content, behaviours: [.holdAfter(2 << 20, gate)]))
        try await service.start()
        let first = service.scratch.path
        let second = first + "/second"
        var request = TaskRequest.download(origin.url("/f"), to: first)
        request.suspended = true
        let id = try await service.api.enqueue(request)
        var change = RetargetRequest()
        change.destination = Destination(directory: second, filename: "renamed")
        change.checksum = Checksum(algorithm: .sha256, hex: content.sha256().hex)
        change.headers = [HeaderField(name: "X-Changed", value: "yes")]
        let changed: TaskStatus = try await service.api.post("/v1/tasks/\(id)/retarget", change)
        #expect(changed.state == .suspended && changed.destination?.directory == second, "\(changed)")
        try await service.api.send("POST", "/v1/tasks/\(id)/resume")
        try await service.wait(id, for: "some bytes") { $0.countOfBytesReceived > 0 }
        var back = RetargetRequest()
        back.destination = Destination(directory: first)
        let refusal = await #expect(throws: Problem.self) {
            try await service.api.post("/v1/tasks/\(id)/retarget", back, as: TaskStatus.self)
        }
        #expect(refusal?.detail?.contains("directory cannot change") == true, "\(String(describing: refusal))")
        gate.open()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.file == second + "/renamed", "\(task)")
        #expect(task.verified == ["sha-256"], "\(task.verified)")
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
        #expect(origin.requests(for: "/f").allSatisfy { $0.fields.first("X-Changed") == "yes" })
    }

    @Test func `B2: The refusal to give a task another URL says what to do instead`() async throws {
        let (service, origin) = (try Service(), try OriginServer())
        origin.serve("/f", .text("whole"))
        try await service.start()
        let id = try await service.api.enqueue(.download(origin.url("/f"), to: service.scratch.path))
        try await service.waitForEnd(id)
        let whole = try await service.cli(["retarget", "\(id)", origin.url("/g"), "--json"])
        #expect(whole.code == 1 && whole.errors.contains("is complete"), "\(whole)")
        let gate = Gate()
        defer { gate.open() }
        origin.serve("/held", Resource(content: content, behaviours: [.holdFrom(1 << 20, gate)]))
        let running = try await service.api.enqueue(.download(origin.url("/held"), to: service.scratch.path))
        try await service.wait(running, for: "a byte") { $0.countOfBytesReceived > 0 }
        #expect(try await service.cli(["cancel", "--keep", "\(running)"]).code == 0)
        let cancelled = try await service.cli(["retarget", "\(running)", origin.url("/g")])
        #expect(cancelled.code == 1 && cancelled.errors.contains("was cancelled"), "\(cancelled)")
        let unknown = try await service.cli(["retarget", "999", origin.url("/g")])
        #expect(unknown.code == 1 && unknown.errors.contains("There is no transfer 999"), "\(unknown)")
        #expect(try await service.cli(["retarget", "\(id)", "ftp://example.org/f"]).code == 2)
        #expect(try await service.cli(["retarget", "\(id)"]).code == 2)
    }

    private func failing(_ url: String, to directory: String) -> TaskRequest {
        var request = TaskRequest.download(url, to: directory)
        request.retryPolicy = .transientResponses
        request.failsOnHTTPError = true
        return request
    }
}
