import NightshiftAPI
import Store
import Synchronization
import TestSupport
import Testing
import Transfers

/// Tests of the upload state machine over real connections that break, with independent servers.
@Suite(.timeLimit(.minutes(20))) struct ResumablePeerTests {
    private let content = SeededContent(seed: 21, size: 12 << 20)

    @Test(
        "T5: An upload in each version that NIO supports continues after a break, resending little",
        arguments: [InteropVersion.v3, .v5, .v6])
    func versionsOfTheDraft(_ version: InteropVersion) async throws {
        let port = try freePort()
        let proxy = try ChaosProxy(to: port)
        let server = try await UploadServer(.resumable, port: port, origin: proxy.url(""))
        Self.harass(proxy, seed: 7)
        let driver = try UploadDriver(content, to: proxy.url("/a.bin"), .draft(version))
        let head = try await driver.run()
        #expect((200..<300).contains(head.status))
        #expect(driver.versions == [version.rawValue])
        try await eventually("the upload") { server.isWhole("a.bin") }
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
        #expect(proxy.totals.cuts > 0)
        #expect(proxy.totals.bytesUp < content.size * 3 / 2, "\(proxy.totals)")
    }

    @Test("T5: A server that answers 400 to version 8 gets requests in its own version")
    func theVersionIsFoundOut() async throws {
        let server = try await UploadServer(.resumable)
        let driver = try UploadDriver(content, to: server.url("/a.bin"), .draft(.v8))
        #expect((200..<300).contains(try await driver.run().status))
        #expect(driver.versions == [8, 6])
        #expect(try content.firstMismatch(inFileAt: server.path("a.bin")) == nil)
    }

    @Test("T5: An upload to a tus server continues after its connection is lost")
    func tus() async throws {
        let port = try freePort()
        let proxy = try ChaosProxy(to: port)
        let server = try await UploadServer(.tus, port: port)
        Self.harass(proxy, seed: 9)
        let driver = try UploadDriver(content, to: proxy.url("/files/"), .tus)
        #expect((200..<300).contains(try await driver.run().status))
        try await eventually("the upload") { server.isWhole("up.bin") }
        #expect(try content.firstMismatch(inFileAt: server.path("up.bin")) == nil)
        #expect(proxy.totals.bytesUp < content.size * 3 / 2, "\(proxy.totals)")
    }

    /// Cuts connections, slowly enough for a server to read most of the data. A reset discards data that the server has
    /// not read.
    private static func harass(_ proxy: ChaosProxy, seed: UInt64) {
        proxy.change { conditions in
            conditions.cuts = ChaosProxy.Cuts(seed: seed, meanBytes: 4 << 20)
            conditions.bytesPerSecond = 8 << 20
        }
    }
}

/// Executes the state machine's actions without a service.
private final class UploadDriver: Sendable {
    private let file: TestFile
    private let transport = TestTransport()
    private let state: Mutex<(upload: ResumableUpload, versions: [Int64])>

    init(_ content: SeededContent, to url: String, _ uploadProtocol: UploadProtocol) throws {
        file = try TestFile(content)
        let target = UploadTarget(
            url: url, method: "PUT", headers: [], length: content.size, source: "s", fileName: "up.bin")
        state = Mutex((ResumableUpload(target, uploadProtocol: uploadProtocol), []))
    }

    /// The draft versions, in the order of their first use.
    var versions: [Int64] { state.withLock { $0.versions } }

    struct GaveUp: Error {
        let verdict: UploadVerdict?
    }

    /// Returns the answer to the upload.
    func run() async throws -> ResponseHead {
        for _ in 0..<100 {
            let request = state.withLock { state in
                let request = state.upload.next()
                let field = request.headers.first("Upload-Draft-Interop-Version").flatMap { Int64($0) }
                if let field, !state.versions.contains(field) { state.versions.append(field) }
                return request
            }
            var wire = WireRequest.direct(request.url, method: request.method, headers: request.headers, idle: 60)
            if let body = request.body {
                wire.body = UploadBody(
                    [.file(descriptor: file.descriptor, offset: body.lowerBound, size: request.count)],
                    meter: ByteMeter())
            }
            wire.mayRepeatBody = request.purpose != .append
            let receiver = Receiver(interim: { [self] head in
                state.withLock { $0.upload.interim(head, now: 0) } == .stop ? .stop : .proceed
            })
            let end = try await transport.end(wire, receiver)
            let verdict = state.withLock { state in
                guard case .complete = end.outcome, let head = end.head else { return state.upload.broke() }
                return state.upload.answered(head, now: 0)
            }
            switch (verdict, end.head) {
            case (.finished?, let head?): return head
            case (.fail?, _): throw GaveUp(verdict: verdict)
            default: break
            }
        }
        throw GaveUp(verdict: nil)
    }
}
