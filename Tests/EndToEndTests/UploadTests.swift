import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of interrupted uploads, with servers written by others.
@Suite(.timeLimit(.minutes(20))) struct UploadTests {
    private let content = Content.seeded(size: 12 << 20, seed: 31)

    /// Starts a service and writes the content to a file.
    private func scene() async throws -> (service: Service, source: String) {
        let service = try Service()
        try await service.start()
        let source = service.scratch.path("source.bin")
        try TestContent.write(content, to: source)
        return (service, source)
    }

    @Test("T5: After a kill an upload continues at the server's offset (draft version 6)")
    func killedInTheDraft() async throws {
        let (service, source) = try await scene()
        let port = try freePort()
        let proxy = try ChaosProxy(to: port)
        let server = try await UploadServer(.resumable, port: port, origin: proxy.url(""))
        var request = TaskRequest.upload(source, to: proxy.url("/a.bin"))
        request.rateLimit = 2 << 20
        let id = try await service.api.enqueue(request)
        try await killAtMarks(service, id)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.response?.status == 201, "\(task)")
        #expect(task.restarts == 0)
        #expect(task.countOfBytesSent == content.size)
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        // The service sends only the bytes again that were in transit at a kill.
        #expect(proxy.totals.bytesUp < content.size * 3 / 2, "\(proxy.totals)")
        try await expectContinued(service, id)
    }

    @Test("T5: An upload continues at a tus server's offset after kills of the service and the server")
    func killedInTus() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.tus)
        var request = TaskRequest.upload(source, to: server.url("/files/"))
        request.resumption = .tus
        request.rateLimit = 2 << 20
        let id = try await service.api.enqueue(request)
        try await killAtMarks(service, id, [2, 5])
        try await service.wait(id, for: "8 MiB") { $0.countOfBytesSent >= 8 << 20 }
        try await service.kill()
        // A server killed between a byte and its record would append the byte twice. The test therefore stops it
        // gracefully.
        try await server.stop()
        try await server.start()
        try await service.start()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.response?.status == 204, "\(task)")
        #expect(task.restarts == 0)
        #expect(try content.firstMismatch(inFileAt: server.path("source.bin")) == nil)
        try await expectContinued(service, id)
    }

    @Test("T5: Random kill -9 neither loses nor mixes uploads")
    func killedAtRandom() async throws {
        let seed = TestRun.number("NIGHTSHIFT_SEED") ?? UInt64.random(in: 0...999_999_999)
        print("UploadTests: NIGHTSHIFT_SEED=\(seed)")
        var random = SplitMix64(seed: seed)
        let (service, source) = try await scene()
        let (draft, tus) = (try await UploadServer(.resumable), try await UploadServer(.tus))
        var requests: [TaskRequest] = []
        for number in 0..<3 {
            var request = TaskRequest.upload(source, to: draft.url("/\(number).bin"))
            request.rateLimit = 2 << 20
            requests.append(request)
        }
        var request = TaskRequest.upload(source, to: tus.url("/files/"))
        request.resumption = .tus
        request.rateLimit = 2 << 20
        requests.append(request)
        let ids = try await service.api.enqueue(requests)
        for _ in 0..<12 {
            try await passTime(
                .milliseconds(Int.random(in: 50...700, using: &random)),
                because: "The kill comes at a random moment and not with an event.")
            try await service.kill()
            try await service.start()
        }
        for id in ids {
            let task = try await service.waitForEnd(id)
            #expect(task.state == .completed, "\(task)")
        }
        for number in 0..<3 {
            #expect(try content.firstMismatch(inFileAt: draft.path("\(number).bin")) == nil)
        }
        #expect(try content.firstMismatch(inFileAt: tus.path("source.bin")) == nil)
    }

    @Test("T5: A server that lost an upload gets it from the start, and the journal says so")
    func forgottenUpload() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.resumable)
        var request = TaskRequest.upload(source, to: server.url("/a.bin"))
        request.rateLimit = 2 << 20
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "3 MiB") { $0.countOfBytesSent >= 3 << 20 && $0.upload != nil }
        try await server.kill()
        try await server.start()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed, "\(task)")
        #expect(task.restarts == 1)
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        #expect(try await service.api.why(id).history.contains { $0.decision == .uploadRestarted })
    }

    @Test("T5: Repeated connection breaks resend few bytes and lose none")
    func brokenConnections() async throws {
        let (service, source) = try await scene()
        let port = try freePort()
        let proxy = try ChaosProxy(to: port)
        let server = try await UploadServer(.resumable, port: port, origin: proxy.url(""))
        proxy.change { conditions in
            conditions.cuts = ChaosProxy.Cuts(seed: 5, meanBytes: 4 << 20)
            conditions.bytesPerSecond = 8 << 20
        }
        let id = try await service.api.enqueue(TaskRequest.upload(source, to: proxy.url("/a.bin")))
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed, "\(task)")
        #expect(proxy.totals.cuts > 0)
        #expect(proxy.totals.bytesUp < content.size * 3 / 2, "\(proxy.totals)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
    }

    @Test("T5 T8: After a change of route the upload continues at the server's offset")
    func anotherWay() async throws {
        let (service, source) = try await scene()
        let port = try freePort()
        let proxy = try ChaosProxy(to: port, conditions: .init(bytesPerSecond: 2 << 20))
        let server = try await UploadServer(.resumable, port: port, origin: proxy.url(""))
        let id = try await service.api.enqueue(TaskRequest.upload(source, to: proxy.url("/a.bin")))
        // Bytes that the service has sent may still be in transit.
        try await eventually("4 MiB at the server") { proxy.totals.bytesUp >= 4 << 20 }
        proxy.stopAccepting()
        proxy.killConnections()
        try await service.wait(id, for: "a lost way") { $0.lastError?.code == .cannotConnect }
        let sent = proxy.totals.bytesUp
        proxy.change { $0.bytesPerSecond = nil }
        try proxy.startAccepting()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.restarts == 0, "\(task)")
        #expect(proxy.totals.bytesUp - sent < content.size - 2 << 20, "\(proxy.totals)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        try await expectContinued(service, id)
    }

    @Test("T5 T13: A cancelled upload continues from its resume data")
    func resumeData() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.resumable)
        var request = TaskRequest.upload(source, to: server.url("/a.bin"))
        request.rateLimit = 1 << 20
        let first = try await service.api.enqueue(request)
        try await service.wait(first, for: "3 MiB") { $0.countOfBytesSent >= 3 << 20 && $0.upload != nil }
        let cancelled = try await service.api.post(
            "/v1/tasks/\(first)/cancel", CancelRequest(producingResumeData: true), as: TaskStatus.self)
        let token: String = try #require(cancelled.resumeData)
        var next = TaskRequest(kind: .upload)
        next.resumeData = token
        let second = try await service.api.enqueue(next)
        let task = try await service.waitForEnd(second)
        #expect(task.state == .completed, "\(task)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        try await expectContinued(service, second)
        #expect(try await service.api.task(first).resumeData == nil)
    }

    @Test("T5 T13: put --continue resumes an upload after cancel --keep")
    func commandsThatKeep() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.resumable)
        let put = ["put", source, server.url("/a.bin"), "--limit-rate", "1M", "--detach"]
        #expect(try await service.cli(put).code == 0)
        try await service.wait(TaskID(1), for: "3 MiB") { $0.countOfBytesSent >= 3 << 20 && $0.upload != nil }
        let cancelled = try await service.cli(["cancel", "--keep", "1"])
        #expect(cancelled.code == 0 && cancelled.errors.contains("nightshift put --continue 1"), "\(cancelled)")
        let wrong = try await service.cli(["get", "--continue", "1"])
        #expect(wrong.code == 2 && wrong.errors.contains("nightshift put --continue 1"), "\(wrong)")
        let outcome = try await service.cli(["put", "--continue", "1"])
        #expect(outcome.code == 0, "\(outcome)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        try await expectContinued(service, TaskID(2))
        let used = try await service.cli(["put", "--continue", "1"])
        #expect(used.code == 1 && used.errors.contains("cannot be continued"), "\(used)")
    }

    @Test("T5: The service shows an upload's 104 response and deletes a cancelled one at the server")
    func cancelledForGood() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.resumable)
        var request = TaskRequest.upload(source, to: server.url("/a.bin"))
        request.rateLimit = 1 << 20
        let id = try await service.api.enqueue(request)
        let running = try await service.wait(id, for: "104, and what it says being written down") {
            $0.informationalResponse?.status == 104 && $0.upload != nil
        }
        let place = try #require(running.informationalResponse?.headers.first("Location"))
        func isKept() async throws -> Bool {
            let head = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-I", "-H", "Upload-Draft-Interop-Version: 6"]
            return try await ChildProcess.run("curl", head + [place]).output.hasPrefix("2")
        }
        #expect(running.upload?.interopVersion == 6)
        _ = try await service.api.post("/v1/tasks/\(id)/cancel", CancelRequest(), as: TaskStatus.self)
        #expect(try await service.api.task(id).upload == nil)
        try await eventually("the server to forget") { try await !isKept() }
    }

    @Test("T5: The service uploads a file to Apache's DAV and to a presigned URL of S3")
    func otherServers() async throws {
        let (service, source) = try await scene()
        let apache = try await WebServer.apache()
        let there = try await service.api.enqueue(.upload(source, to: apache.url(WebServer.uploadPath + "there")))
        #expect(try await service.waitForEnd(there).response?.status == 201)
        #expect(try content.firstMismatch(inFileAt: apache.documents + WebServer.uploadPath + "there") == nil)
        let s3 = try await UploadServer(.s3)
        let object = try await service.api.enqueue(.upload(source, to: try await s3.presigned("put", "o.bin")))
        #expect(try await service.waitForEnd(object).response?.status == 200)
        let back = service.scratch.path("back")
        let got = try await service.cli(["get", try await s3.presigned("get", "o.bin"), "-o", back])
        #expect(got.code == 0, "\(got)")
        #expect(try content.firstMismatch(inFileAt: back) == nil)
    }

    @Test("T5: The service sends a form's files directly from their paths, between its text fields")
    func forms() async throws {
        let (service, source) = try await scene()
        let origin = try OriginServer()
        origin.serve("/form", .text("thanks"))
        var request = TaskRequest(kind: .upload, url: origin.url("/form"))
        request.form = [
            FormField(name: "title", value: "Käse \"7\""), FormField(name: "file", source: source, contentType: "x/y"),
        ]
        let id = try await service.api.enqueue(request)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.method == "POST", "\(task)")
        let got = try #require(origin.requests(for: "/form").last)
        let type = try #require(got.field("Content-Type"))
        let boundary = try #require(type.split(separator: "boundary=").last)
        let head = """
            --\(boundary)\r\nContent-Disposition: form-data; name="title"\r\n\r\nKäse "7"\r\n\
            --\(boundary)\r\nContent-Disposition: form-data; name="file"; filename="source.bin"\r\n\
            Content-Type: x/y\r\n\r\n
            """
        let body = try got.body.file.map(fileBytes) ?? got.body.bytes
        #expect(body == Array(head.utf8) + content.bytes(0..<content.size) + Array("\r\n--\(boundary)--\r\n".utf8))
        #expect(task.countOfBytesSent == Int64(body.count) && task.countOfBytesExpectedToSend == Int64(body.count))
    }

    @Test("T5: A service with its own copy of an upload needs no source file, and deletes the copy")
    func copies() async throws {
        let (service, source) = try await scene()
        let server = try await UploadServer(.resumable)
        var request = TaskRequest.upload(source, to: server.url("/a.bin"))
        request.snapshot = .copy
        request.rateLimit = 2 << 20
        let id = try await service.api.enqueue(request)
        try FileManager.default.removeItem(atPath: source)
        #expect(service.names(in: service.paths.sources.path).count == 1)
        try await service.wait(id, for: "3 MiB") { $0.countOfBytesSent >= 3 << 20 }
        // This file is the leftover of a crash between copying the file and creating its task.
        try Data().write(to: service.paths.sources.appending(path: "0.orphan"))
        try await service.kill()
        try await service.start()
        try await eventually("no orphan") { !service.names(in: service.paths.sources.path).contains("0.orphan") }
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed, "\(task)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        try await eventually("no copy") { service.names(in: service.paths.sources.path).isEmpty }
    }

    @Test(
        "T5: If the file system can clone files, every upload has a copy that uses no space",
        .enabled(if: Machine.hasReflinks, "needs root, loop devices and xfsprogs"))
    func reflinks() async throws {
        let mount = try await Mount.xfs()
        let service = try Service(home: mount.path + "/home")
        try await service.start()
        let source = mount.path + "/source.bin"
        try TestContent.write(content, to: source)
        let server = try await UploadServer(.resumable)
        let id = try await service.api.enqueue(.upload(source, to: server.url("/a.bin")))
        try FileManager.default.removeItem(atPath: source)
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed, "\(task)")
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        try await service.stop()
    }

    private func killAtMarks(_ service: Service, _ id: TaskID, _ marks: [Int64] = [2, 5, 8]) async throws {
        for mark in marks {
            try await service.wait(id, for: "\(mark) MiB") { $0.countOfBytesSent >= mark << 20 }
            try await service.kill()
            try await service.start()
        }
    }

    /// Expects that an upload has continued. Under load it may continue several times between two checks of a test, so
    /// only one continuation is certain.
    private func expectContinued(_ service: Service, _ id: TaskID) async throws {
        let history = try await service.api.why(id).history
        #expect(
            history.contains { $0.decision == .uploadContinued && $0.detail != "From byte 0." }, "\(history)")
    }
}
