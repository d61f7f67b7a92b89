import Clock
import Foundation
import HTTPTransport
import Logging
import NightshiftAPI
import Sessions
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// Tests of every way in which a request can move to another origin, each with its own code and over real connections.
@Suite(.timeLimit(.minutes(20))) struct OriginMoveTests {
    /// A way in which a request moves to another origin. Each new way must be added here.
    enum Way: String, CaseIterable {
        case redirect, mirror, partsFromMirror, uploadResource, retarget, resumeData, delayedRequest
        case uploadResumeData, delayedUpload
    }

    private static let secrets = [
        "Authorization", "Cookie", "PRIVATE-TOKEN", "X-Client-Secret", "X-Api-Key", "X-Whatever", "Referer",
    ]
    private static let harmless = ["Accept-Language", "User-Agent"]

    @Test(arguments: Way.allCases)
    func `Another origin receives only harmless data after a change of URL`(way: Way) async throws {
        let scene = try Scene()
        try await scene.run { service in
            try await scene.go(way, service)
            try await eventually("a request at the other origin", within: .seconds(60)) {
                !scene.second.requests.isEmpty
            }
        }
        // The first origin gets the complete request, unless the request moves before it is sent.
        for request in scene.first.requests {
            #expect(request.field("X-Whatever") == "X-Whatever", "\(way): \(request.target)")
        }
        for request in scene.second.requests {
            for name in Self.secrets { #expect(request.field(name) == nil, "\(way): \(name) at \(request.target)") }
            for name in Self.harmless { #expect(request.field(name) == name, "\(way): \(name) at \(request.target)") }
        }
        let (home, away) = scene.begun
        for request in home { #expect(request.tls?.clientCertificate == Scene.certificate, "\(way)") }
        #expect(way == .redirect || !away.isEmpty)
        for request in away {
            #expect(request.credential == nil, "\(way)")
            #expect(request.tls?.clientCertificate == nil && request.tls?.clientKey == nil, "\(way)")
        }
    }

    @Test(arguments: [Way.retarget, .delayedRequest])
    func `The data of a session stays with its origin after a change of URL`(way: Way) async throws {
        var settings = SessionSettings()
        settings.headers = [
            HeaderField(name: "X-Session-Key", value: "k"), HeaderField(name: "Accept", value: "text/plain"),
        ]
        settings.tls = TLSSettings(clientCertificate: Scene.certificate)
        settings.proxy = ""
        let scene = try Scene(settings)
        try await scene.run { service in
            try await scene.go(way, service)
            try await eventually("a request at the other origin") { !scene.second.requests.isEmpty }
        }
        for request in scene.second.requests {
            #expect(request.field("X-Session-Key") == nil && request.field("Accept") == "text/plain", "\(way)")
        }
        #expect(!scene.begun.away.isEmpty)
        for request in scene.begun.away { #expect(request.tls?.clientCertificate == nil, "\(way)") }
    }

    @Test(arguments: [Way.uploadResumeData, .delayedUpload])
    func `An origin that has the beginning of an upload does not get data for the new origin`(way: Way)
        async throws
    {
        let scene = try Scene(newHeaders: [HeaderField(name: "X-Whatever", value: "new")])
        try await scene.run { service in
            try await scene.go(way, service)
            try await eventually("the upload at the other origin") {
                scene.second.requests.contains { $0.method == "PATCH" && $0.isFinished }
            }
            // The service tells the old origin that it has abandoned the upload.
            try await eventually("the end of the old one") { scene.first.requests.contains { $0.method == "DELETE" } }
        }
        #expect(scene.first.requests.allSatisfy { $0.field("X-Whatever") == "X-Whatever" }, "\(way)")
        #expect(scene.second.requests.allSatisfy { $0.field("X-Whatever") == "new" }, "\(way)")
        #expect(scene.second.requests.first { $0.method == "PATCH" }?.body.length == 10, "\(way)")
    }

    @Test func `An upload that is continued from resume data keeps its URL`() async throws {
        let scene = try Scene()
        try await scene.run { service in
            let id = try await service.enqueue(
                EnqueueRequest(
                    tasks: [
                        scene.continuation(of: try await scene.brokenUpload(service)) {
                            $0.url = nil
                            $0.suspended = true
                        }
                    ]))[0]
            let refusal = await #expect(throws: Problem.self) {
                _ = try await service.retarget(id, RetargetRequest(url: scene.second.url("/b")))
            }
            #expect(refusal?.status == 409)
        }
        #expect(scene.second.requests.isEmpty)
    }

    @Test func `A request body is sent only to the origin that the body was given for`() async throws {
        let scene = try Scene()
        let secret: @Sendable (inout TaskRequest) -> Void = {
            $0.method = "POST"
            $0.body = Data("password=secret".utf8)
        }
        scene.second.serve("/b", .text("here"))
        try await scene.run { service in
            let id = try await service.enqueue(
                EnqueueRequest(
                    tasks: [
                        scene.task {
                            secret(&$0)
                            $0.suspended = true
                        }
                    ]))[0]
            // Within the same origin the body is sent again.
            let moved = try await service.retarget(id, RetargetRequest(url: scene.first.url("/c")))
            #expect(moved.method == "POST")
            let refusal = await #expect(throws: Problem.self) {
                _ = try await service.retarget(id, RetargetRequest(url: scene.second.url("/b")))
            }
            #expect(refusal?.status == 409)
            // An app that gives another address without a body requests that address without a body.
            try await scene.delayed(service, secret)
            try await eventually("a request at the other origin") { !scene.second.requests.isEmpty }
        }
        #expect(!scene.begun.away.isEmpty)
        #expect(scene.begun.away.allSatisfy { $0.method == "GET" && $0.body == nil })
    }

    @Test func `The service sends the header fields of a retarget request to the new address`() async throws {
        let scene = try Scene()
        try await scene.run { service in
            let id = try await service.enqueue(
                EnqueueRequest(tasks: [scene.task { $0.suspended = true }]))[0]
            scene.second.serve("/b", .text("here"))
            _ = try await service.retarget(
                id,
                RetargetRequest(
                    url: scene.second.url("/b"), headers: [HeaderField(name: "X-Whatever", value: "new")]))
            _ = try await service.resume(id)
            try await eventually("a request at the other origin") { !scene.second.requests.isEmpty }
        }
        #expect(scene.second.requests.allSatisfy { $0.field("X-Whatever") == "new" && $0.field("Cookie") == nil })
    }
}

/// A service, the origin of its tasks, and another origin.
private final class Scene: Sendable {
    static let certificate = "/etc/client.pem"

    let first: OriginServer
    let second: OriginServer
    private let app = AppID(rawValue: "org.example.A")
    private let settings: SessionSettings
    /// The header fields that are given together with the new address.
    private let newHeaders: [HeaderField]?
    private let directory: TemporaryDirectory
    private let transport: RecordingTransport

    init(_ settings: SessionSettings = SessionSettings(), newHeaders: [HeaderField]? = nil) throws {
        self.settings = settings
        self.newHeaders = newHeaders
        first = try OriginServer()
        second = try OriginServer()
        directory = try TemporaryDirectory()
        transport = RecordingTransport()
    }

    /// The requests that the service has made to its transport, for each origin.
    var begun: (home: [WireRequest], away: [WireRequest]) {
        let all = transport.requests
        return (all.filter { $0.url.hasPrefix(first.url("/")) }, all.filter { $0.url.hasPrefix(second.url("/")) })
    }

    /// Returns a task for the first origin, with secrets of every kind.
    func task(_ change: (inout TaskRequest) -> Void = { _ in }) -> TaskRequest {
        var task = TaskRequest(url: first.url("/a"))
        task.headers =
            ["Authorization", "Cookie", "PRIVATE-TOKEN", "X-Client-Secret", "X-Api-Key", "X-Whatever", "Referer"]
            .map { HeaderField(name: $0, value: $0) }
            + ["Accept-Language", "User-Agent"].map { HeaderField(name: $0, value: $0) }
        task.credential = Credential(user: "ada", password: "secret", scheme: .digest)
        task.tls = TLSSettings(clientCertificate: Self.certificate, clientKey: "/etc/client.key")
        task.proxy = ""
        change(&task)
        return task
    }

    func run(_ body: (TransferService) async throws -> Void) async throws {
        let paths = ServicePaths(
            environment: ["NIGHTSHIFT_HOME": directory.path("home")], homeDirectory: URL(filePath: "/"))
        for path in [paths.state, paths.partials, paths.files, paths.sources] {
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }
        let clock = SystemClock()
        let store = try Store(paths: paths, now: clock.now())
        let service = TransferService(
            TransferService.Environment(
                paths: paths, store: store, transport: transport, clock: clock, moment: DeviceState(),
                random: { 0.5 }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
        try await service.prepare()
        let running = Task { try await service.run() }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(service))
        } catch {
            result = .failure(error)
        }
        await service.stop()
        try await running.value
        transport.shutdown()
        try store.close()
        try result.get()
    }

    func go(_ way: OriginMoveTests.Way, _ service: TransferService) async throws {
        second.serve("/b", .text("here"))
        switch way {
        case .redirect:
            first.serve("/a", .text("", .redirect(to: second.url("/b"))))
            try await enqueue(service, task())
        case .mirror:
            first.serve("/a", .text("", .status(404)))
            try await enqueue(service, task { $0.mirrors = [second.url("/b")] })
        case .partsFromMirror:
            // The body takes two minutes. Another connection still pays off when the service has measured that.
            first.serve("/a", .seeded(size: 240 << 20, seed: 1, .throttle(bytesPerSecond: 2 << 20)))
            second.serve("/b", .seeded(size: 240 << 20, seed: 1, .throttle(bytesPerSecond: 2 << 20)))
            try await enqueue(
                service,
                task {
                    $0.mirrors = [second.url("/b")]
                    $0.connections = 4
                })
        case .uploadResource:
            try await upload(service)
        case .retarget:
            let id = try await enqueue(service, task { $0.suspended = true })
            _ = try await service.retarget(id, RetargetRequest(url: second.url("/b")))
            _ = try await service.resume(id)
        case .resumeData:
            first.serve("/a", .seeded(size: 4 << 20, seed: 1, .stallAfter(2 << 20)))
            second.serve("/b", .seeded(size: 4 << 20, seed: 1))
            let id = try await enqueue(service, task())
            try await eventually("bytes") { try await service.task(id).countOfBytesReceived > 1 << 20 }
            let kept = try await service.cancel(id, producingResumeData: true)
            var next = TaskRequest(url: second.url("/b"))
            #expect(kept.resumeData != nil)
            next.resumeData = kept.resumeData
            try await enqueue(service, next)
        case .delayedRequest:
            try await delayed(service)
        case .uploadResumeData:
            serveUploadElsewhere()
            try await enqueue(service, continuation(of: try await brokenUpload(service)))
        case .delayedUpload:
            serveUploadElsewhere()
            let token = try await brokenUpload(service)
            try await delayed(service) {
                $0.kind = .upload
                $0.resumeData = token
            }
        }
    }

    @discardableResult
    private func enqueue(_ service: TransferService, _ task: TaskRequest) async throws -> TaskID {
        let session = SessionID(rawValue: "s")
        if try await !service.sessions().contains(where: { $0.id == session }) {
            _ = try await service.putSession(session, settings)
        }
        return try await service.enqueue(EnqueueRequest(session: session, tasks: [task]))[0]
    }

    private func upload(_ service: TransferService) async throws {
        let file = directory.path("source")
        try Data("0123456789".utf8).write(to: URL(filePath: file))
        let tus = HTTPField("Tus-Resumable", "1.0.0")
        first.serve("/a", .text("", .status(201, fields: [tus, HTTPField("Location", second.url("/u"))])))
        second.serve("/u", .text("", .status(204, fields: [tus, HTTPField("Upload-Offset", "10")])))
        try await enqueue(
            service,
            task {
                $0.kind = .upload
                $0.source = file
                $0.resumption = .tus
            })
    }

    /// Lets the second origin accept uploads too.
    private func serveUploadElsewhere() {
        let tus = HTTPField("Tus-Resumable", "1.0.0")
        second.serve("/b", .text("", .status(201, fields: [tus, HTTPField("Location", "/v")])))
        second.serve("/v", .text("", .status(204, fields: [tus, HTTPField("Upload-Offset", "10")])))
    }

    /// Uploads until the first origin has the beginning, and returns the resume data.
    func brokenUpload(_ service: TransferService) async throws -> String? {
        let file = directory.path("source")
        try Data("0123456789".utf8).write(to: URL(filePath: file))
        let tus = HTTPField("Tus-Resumable", "1.0.0")
        first.serve("/a", .text("", .status(201, fields: [tus, HTTPField("Location", "/u")])))
        first.serve("/u", .text("", .stallHead.on("PATCH"), .status(204, fields: [tus])))
        let id = try await enqueue(
            service,
            task {
                $0.kind = .upload
                $0.source = file
                $0.resumption = .tus
            })
        try await eventually("the upload's bytes") { first.requests.contains { $0.method == "PATCH" } }
        let kept = try await service.cancel(id, producingResumeData: true)
        #expect(kept.resumeData != nil)
        return kept.resumeData
    }

    /// Returns a task at the second origin that continues from resume data.
    func continuation(of token: String?, _ change: (inout TaskRequest) -> Void = { _ in }) -> TaskRequest {
        var next = TaskRequest(url: second.url("/b"))
        next.kind = .upload
        next.resumeData = token
        next.headers = newHeaders
        change(&next)
        return next
    }

    func delayed(_ service: TransferService, _ change: @Sendable (inout TaskRequest) -> Void = { _ in }) async throws {
        _ = try await service.attach(app, "s", settings)
        var request = SessionTaskRequest(
            taskIdentifier: 1,
            request: task {
                $0.earliestBeginDate = Date(timeIntervalSinceNow: 5)
                change(&$0)
            })
        request.asksBeforeBeginning = true
        _ = try await service.enqueue(
            app, "s", SessionEnqueueRequest(tasks: [request]))
        for await case .message(let message) in try await service.messages(app, "s", process: getpid())
        where message.kind == .delayedRequest {
            var answer = MessageAnswer(message: message.id, disposition: .continueLoading)
            answer.request = TaskRequest(url: second.url("/b"))
            answer.request?.headers = newHeaders
            try await service.answer(app, "s", answer)
            return
        }
    }
}

/// The real transport, which records its requests.
private final class RecordingTransport: Transport {
    private let transport = CurlTransport()
    private let begun = Mutex<[WireRequest]>([])

    var requests: [WireRequest] { begun.withLock { $0 } }

    func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle {
        begun.withLock { $0.append(request) }
        return transport.begin(request, receiver: receiver)
    }

    func setRateLimit(_ bytesPerSecond: Int64?) { transport.setRateLimit(bytesPerSecond) }

    func forgetConnections() { transport.forgetConnections() }

    func shutdown() { transport.shutdown() }
}
