import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the real service, which fetches files over several connections from real servers and from a misbehaving
/// one.
@Suite struct SegmentTests {
    private static let content = Content.seeded(size: 20 << 20, seed: 50)

    /// Starts a service and a download of ``content`` from an origin that limits each connection to `rate` bytes a
    /// second.
    private func download(
        _ behaviours: Behaviour..., rate: Int64 = 2 << 20, adjust: (inout TaskRequest) -> Void = { _ in }
    ) async throws -> (Service, OriginServer, TaskID) {
        let (service, origin) = (try Service(), try OriginServer(sendBuffer: 65_536))
        try await service.start()
        origin.serve(
            "/f", Resource(content: Self.content, behaviours: [.throttle(bytesPerSecond: rate)] + behaviours))
        var request = TaskRequest.download(origin.url("/f"), to: service.scratch.path("to"))
        adjust(&request)
        return (service, origin, try await service.api.enqueue(request))
    }

    private func expectWhole(_ task: TaskStatus) throws {
        #expect(task.state == .completed, "\(task)")
        #expect(try Self.content.firstMismatch(inFileAt: task.file ?? "") == nil)
    }

    @Test(arguments: ["nginx", "Apache"])
    func `B4: The service fetches parts over as many connections as increase the speed`(name: String) async throws {
        let service = try Service()
        let server: WebServer
        if name == "nginx" {
            var options = WebServer.NginxOptions()
            options.limitRate = 2 << 20
            server = try await WebServer.nginx(options)
        } else {
            server = try await WebServer.apache()
        }
        try await service.start()
        try server.publish("f", Self.content)
        let arguments = ["get", server.url("/f"), "-o", "f"] + (name == "nginx" ? [] : ["--connections", "4"])
        let outcome = try await service.cli(arguments)
        #expect(outcome.code == 0, "\(outcome)")
        let task = try await service.api.task(TaskID(1))
        try expectWhole(task)
        #expect(task.attempts == 1)
        let journal = try await service.api.get("/v1/journal?task=1", as: JournalPage.self).entries.map(\.decision)
        #expect(journal.contains(.divided) && !journal.contains(.undivided))
    }

    @Test func `B4: A slow connection receives almost none of the file`() async throws {
        let crawling = Behaviour.throttle(bytesPerSecond: 100_000).skippingFirst(1).times(1)
        let (service, origin, id) = try await download(crawling) { $0.connections = 4 }
        let task = try await service.waitForEnd(id)
        try expectWhole(task)
        let sent = origin.requests(for: "/f").map(\.bodyBytesSent)
        #expect(sent.count >= 4)
        #expect(sent[1] < 2 << 20, "\(sent)")
        #expect(sent.reduce(0, +) < Self.content.size * 11 / 10, "\(sent)")
    }

    /// The faults in the responses to range requests. The origin serves the first, plain request correctly. Some faults
    /// apply only to requests with a range.
    static let lies =
        [
            Behaviour.ignoreRange, .lyingRange(.wrongStart(by: 1_000)), .lyingRange(.wrongTotal(by: 1)),
            .lyingRange(.garbage), .lyingRange(.missingContentRange), .lyingRange(.multipart), .shortRange(1_000),
            .connectionLimit(1),
        ]
        + [
            Behaviour.changingETagPerRequest, .status(500), .status(404), .closeBeforeHead,
            .status(429, retryAfter: .seconds(600)), .status(503),
        ].map { $0.skippingFirst(1) }

    @Test(arguments: lies.indices)
    func `B4: The service uses one connection if a server limits, refuses or misreports ranges`(
        index: Int
    ) async throws {
        let lie = Self.lies[index]
        let (service, origin, id) = try await download(lie)
        let task = try await service.waitForEnd(id)
        try expectWhole(task)
        #expect(task.restarts == 0, "\(lie)")
        let journal = try await service.api.get("/v1/journal?task=1", as: JournalPage.self).entries
        #expect(task.attempts == 1, "\(lie): \(journal.map { "\($0.decision) \($0.detail ?? "")" })")
        let requests = origin.requests(for: "/f")
        #expect(requests.count > 1, "\(lie): nobody asked for a part")
        // The first connection delivered nearly everything.
        #expect(requests[0].bodyBytesSent > Self.content.size - 4 << 20, "\(lie): \(requests.map(\.bodyBytesSent))")
    }

    @Test func `B4: The service fetches parts that do not match the digest again over one connection`()
        async throws
    {
        let (service, origin, id) = try await download(.lyingRange(.wrongBytes(by: 4_096))) {
            $0.connections = 3
            $0.checksum = Checksum(algorithm: .sha256, hex: Self.content.sha256().hex)
        }
        let task = try await service.waitForEnd(id)
        try expectWhole(task)
        #expect(task.verified == ["sha-256"])
        #expect(task.restarts == 1)
        let last = try #require(origin.requests(for: "/f").last)
        #expect(last.field("Range") == nil && last.bodyBytesSent == Self.content.size)
    }

    @Test func `B4: The service downloads from several mirrors, but not from a mirror with another file`() async throws
    {
        let (mirror, other) = (try OriginServer(), try OriginServer())
        let throttle = Behaviour.throttle(bytesPerSecond: 2 << 20)
        mirror.serve("/m", Resource(content: Self.content, behaviours: [throttle]))
        // The other file has a different length. With an equal length, only the final digest would reveal it.
        other.serve("/o", Resource(content: .seeded(size: Self.content.size + 1, seed: 51), etag: "\"other\""))
        let (service, origin, id) = try await download { request in
            request.connections = 4
            request.mirrors = [mirror.url("/m"), other.url("/o")]
            request.checksum = Checksum(algorithm: .sha256, hex: Self.content.sha256().hex)
            request.headers = [HeaderField(name: "Authorization", value: "Bearer secret")]
        }
        try expectWhole(try await service.waitForEnd(id))
        #expect(mirror.bodyBytesSent(for: "/m") > Self.content.size / 8)
        #expect(origin.bodyBytesSent(for: "/f") < Self.content.size)
        #expect(other.requests(for: "/o").count == 1)
        #expect(origin.requests(for: "/f").allSatisfy { $0.field("Authorization") == "Bearer secret" })
        let elsewhere = mirror.requests(for: "/m") + other.requests(for: "/o")
        #expect(elsewhere.allSatisfy { $0.field("Authorization") == nil })
    }

    @Test func `B4: A mirror delivers the rest if a server goes away, even after kill -9`() async throws {
        let mirror = try OriginServer()
        let throttle = Behaviour.throttle(bytesPerSecond: 2 << 20)
        // The mirror's tag differs, so only the bytes show that it has the same file.
        mirror.serve("/m", Resource(content: Self.content, etag: "\"elsewhere\"", behaviours: [throttle]))
        let (service, origin, id) = try await download { request in
            request.connections = 1
            request.mirrors = [mirror.url("/m")]
            request.checksum = Checksum(algorithm: .sha256, hex: Self.content.sha256().hex)
        }
        _ = try await service.wait(id, for: "4 MiB") { $0.countOfBytesReceived >= 4 << 20 }
        origin.stop()
        _ = try await service.wait(id, for: "8 MiB") { $0.countOfBytesReceived >= 8 << 20 }
        try await service.kill()
        try await service.start()
        let task = try await service.waitForEnd(id)
        try expectWhole(task)
        #expect(task.restarts == 0)
        #expect(mirror.requests(for: "/m").allSatisfy { $0.field("Range") != nil })
    }

    @Test func `B4: A mirror delivers a file that is missing at its URL, under its own name`() async throws {
        let (origin, mirror, service) = (try OriginServer(), try OriginServer(), try Service())
        mirror.serve("/other/name", Resource(content: Self.content))
        try await service.start()
        for (number, url) in ["http://127.0.0.1:\(try freePort())/big.iso", origin.url("/big.iso")].enumerated() {
            let folder = service.scratch.path("\(number)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let outcome = try await service.cli(["get", "--mirror", mirror.url("/other/name"), "-d", folder, url])
            #expect(outcome.code == 0, "\(outcome)")
            #expect(try Self.content.firstMismatch(inFileAt: "\(folder)/big.iso") == nil)
        }
    }

    @Test func `B4: kill -9 during a split download costs only the bytes since the checkpoints`() async throws {
        // The rate is low enough for four kills before the end, however busy the machine is.
        let (service, origin, id) = try await download(rate: 512 << 10) { $0.connections = 4 }
        var kills = 0
        for mark in [3, 7, 11, 15] as [Int64] {
            let reached = try await service.wait(id, for: "\(mark) MiB") {
                $0.countOfBytesReceived >= mark << 20 || $0.state.isTerminal
            }
            guard !reached.state.isTerminal else { break }
            try await service.kill()
            kills += 1
            try await service.start()
        }
        #expect(kills > 2)
        let task = try await service.waitForEnd(id)
        try expectWhole(task)
        #expect(task.restarts == 0)
        // Each kill costs the bytes after the checkpoint and those in the sockets of four connections.
        let excess = origin.bodyBytesSent(for: "/f") - Self.content.size
        #expect(excess < Int64(kills) * 8 << 20, "\(excess) bytes more than the file, \(kills) kills")
        #expect(service.partialFiles == [])
    }

    @Test func `B4: A task that is suspended, resumed and cancelled with resume data keeps its gaps`() async throws {
        // More than a minute of the download remains when it is cancelled.
        let (service, origin, id) = try await download(rate: 64 << 10) { $0.connections = 4 }
        try await service.wait(id, for: "1 MiB") { $0.countOfBytesReceived >= 1 << 20 }
        let suspended = try await service.api.post("/v1/tasks/\(id)/suspend", CancelRequest?.none, as: TaskStatus.self)
        #expect(origin.openConnectionCount <= 4)
        _ = try await service.api.post("/v1/tasks/\(id)/resume", CancelRequest?.none, as: TaskStatus.self)
        try await service.wait(id, for: "more") { $0.countOfBytesReceived > suspended.countOfBytesReceived + 2 << 20 }
        let cancelled = try await service.api.post(
            "/v1/tasks/\(id)/cancel", CancelRequest(producingResumeData: true), as: TaskStatus.self)
        // Without a limit, a connection that takes over a part would repeat the megabytes in another one's sockets.
        origin.setBehaviours([.throttle(bytesPerSecond: 2 << 20)], for: "/f")
        var next = TaskRequest()
        next.resumeData = cancelled.resumeData
        let task = try await service.waitForEnd(try await service.api.enqueue(next))
        try expectWhole(task)
        #expect(task.restarts == 0)
        let excess = origin.bodyBytesSent(for: "/f") - Self.content.size
        // The excess is less than the bytes received by then.
        #expect(excess < 5 << 19, "\(excess) bytes came twice")
    }
}
