import Foundation
import NightshiftAPI
import TestSupport
import Testing
import app_probe

/// Tests of questions about connections to an app that is not running, and of an upload through crashes (T7, section
/// 2.4).
@Suite(.serialized, .timeLimit(.minutes(20))) struct CertificateTests {
    /// Returns an app that has started downloads of these names and died. It starts `later` when the user activates it.
    private func dead(
        _ server: SecureServer, _ names: [String] = ["file"], later: String? = nil,
        _ change: (inout Orders) -> Void
    ) async throws -> AppFixture {
        let app = try AppFixture()
        try app.order { orders in
            orders.transfers = names.map { TransferOrder(server.url, $0) }
            if let later { orders.transfers.append(TransferOrder(server.url, later, at: .active)) }
            orders.rules = [Rule(.begun, .crash)]
            change(&orders)
        }
        try await app.install()
        try await app.launchUntilItDies()
        #expect(app.seen(.sessionChallenge).isEmpty && server.requestCount == 0)
        server.letIn()
        return app
    }

    private func expectWhole(_ app: AppFixture, _ name: String) throws {
        #expect(app.seen(.completed, task: name).map(\.status) == [200])
        #expect(app.seen(.completed, task: name).map(\.code) == [nil])
        #expect(try SecureServer.content.firstMismatch(inFileAt: app.file(name)) == nil)
    }

    private func space(_ method: String, _ server: SecureServer) throws -> Sighting.ProtectionSpace {
        Sighting.ProtectionSpace(
            method: method, host: "localhost", port: server.port, scheme: "https",
            certificates: method == Self.trust ? try server.chain() : nil)
    }

    private static let trust = "NSURLAuthenticationMethodServerTrust"
    private static let certificate = "NSURLAuthenticationMethodClientCertificate"

    // MARK: - The server's certificate

    @Test func `T7: The trust of an app that is launched to judge a server covers the session's tasks`()
        async throws
    {
        let server = try await SecureServer()
        let app = try await dead(server, ["one", "two"], later: "three") { $0.answer = .credential }
        try await app.wait(for: .completed, count: 2)
        try await app.waitUntilSuspended()
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.sessionChallenge).map(\.space) == [try space(Self.trust, server)])
        #expect(app.seen(.sessionChallenge).map(\.code) == [0])
        #expect(app.seen(.sessionChallenge).map(\.task) == [nil], "it is the session's question")
        #expect(app.seen(.challenge).isEmpty, "the session's method has answered")
        try expectWhole(app, "one")
        try expectWhole(app, "two")

        try await app.perform("activate")
        try await app.wait(for: .completed, task: "three")
        try expectWhole(app, "three")
        #expect(app.seen(.sessionChallenge).count == 1)
    }

    @Test
    func
        `T7: A task ends with NSURLErrorServerCertificateUntrusted if the app leaves the trust decision to the system`()
        async throws
    {
        let server = try await SecureServer()
        let app = try await dead(server) { $0.answer = .default }
        let end = try await app.wait(for: .completed)
        try await app.waitUntilSuspended()
        #expect(end.domain == NSURLErrorDomain && end.code == -1202)
        #expect(end.status == nil && end.hasResumeData == false)
        #expect(app.seen(.sessionChallenge).map(\.space) == [try space(Self.trust, server)])
        #expect(
            app.seen(.challenge).map(\.space) == app.seen(.sessionChallenge).map(\.space), "the task's is asked next")
        #expect(app.seen(.finishing).isEmpty)
        #expect(server.requestCount == 0)
    }

    @Test func `T7: Cancelling a server's challenge ends only that task, with NSURLErrorCancelled`() async throws {
        let server = try await SecureServer()
        let app = try await dead(server, ["one", "two"]) { $0.answer = .cancel }
        try await app.wait(for: .completed, count: 2)
        try await app.waitUntilSuspended()
        #expect(app.seen(.completed).map(\.code) == [NSURLErrorCancelled, NSURLErrorCancelled])
        #expect(app.seen(.completed).allSatisfy { $0.domain == NSURLErrorDomain && $0.reason == nil })
        #expect(app.seen(.sessionChallenge).count == 2, "the other task is asked about for itself")
        #expect(app.seen(.finishing).isEmpty)
        #expect(server.requestCount == 0)
    }

    // MARK: - The client's certificate

    @Test func `T7: A dead app is launched to provide its certificate, which the server accepts`() async throws {
        let server = try await SecureServer(wantsCertificate: true)
        let app = try await dead(server, later: "later") {
            $0.answer = .credential
            $0.clientCertificate = server.certificates.clientCertificate
            $0.clientKey = server.certificates.clientKey
        }
        try await app.wait(for: .completed)
        try await app.waitUntilSuspended()
        try expectWhole(app, "file")
        let spaces = [try space(Self.trust, server), try space(Self.certificate, server)]
        #expect(app.seen(.sessionChallenge).map(\.space) == spaces)
        #expect(app.seen(.challenge).isEmpty)
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])

        try await app.perform("activate")
        try await app.wait(for: .completed, task: "later")
        try expectWhole(app, "later")
        #expect(app.seen(.sessionChallenge).count == 2)
    }

    @Test func `T7: Without a client certificate the server's 400 response arrives as a file`() async throws {
        let server = try await SecureServer(wantsCertificate: true)
        let app = try await dead(server) { $0.answer = .credential }
        let end = try await app.wait(for: .completed)
        try await app.waitUntilSuspended()
        #expect(end.status == 400 && end.code == nil)
        let spaces = [try space(Self.trust, server), try space(Self.certificate, server)]
        #expect(app.seen(.sessionChallenge).map(\.space) == spaces)
        #expect(app.seen(.challenge).map(\.space) == [spaces[1]], "the task's is asked next")
        let page = String(decoding: try fileBytes(app.file("file")), as: UTF8.self)
        #expect(page.contains("No required SSL certificate was sent"))
    }

    // MARK: - Questions that meet their answer

    /// Launches an app of which one task gets a challenge and its answer, while another task is about to reach the same
    /// server without knowing this.
    private func launchForDetour(_ app: AppFixture, _ server: SecureServer) async throws {
        let gate = Gate()
        let detour: [Behaviour] = [.holdHead(gate), .redirect(to: server.url)]
        app.origin.serve("/away", Resource(content: .bytes([]), behaviours: detour))
        try app.order {
            $0.transfers = [TransferOrder(app.origin.url("/away"), "away"), TransferOrder(server.url, "direct")]
        }
        server.shutOut()
        try await app.launch()
        try await app.wait(for: "the detour") { _ in !app.origin.requests(for: "/away").isEmpty }
        server.letIn()
        try await app.wait(for: .completed, task: "direct")
        gate.open()
        try await app.wait(for: .completed, task: "away")
        try expectWhole(app, "direct")
        try expectWhole(app, "away")
    }

    @Test func `T7: A server that the app has trusted meanwhile causes no second challenge`() async throws {
        let server = try await SecureServer()
        let app = try AppFixture()
        try app.order { $0.answer = .credential }
        try await app.install()
        try await launchForDetour(app, server)
        #expect(app.seen(.sessionChallenge).count == 1)
    }

    @Test func `T7: The service does not ask again for a certificate that the app has provided meanwhile`() async throws
    {
        let server = try await SecureServer(wantsCertificate: true)
        let app = try AppFixture()
        try app.order {
            $0.answer = .credential
            $0.transfers = [TransferOrder(server.url, "refused")]
        }
        try await app.install()
        try await app.launch()
        server.letIn()
        #expect(try await app.wait(for: .completed).status == 400)
        try await app.waitForAcknowledgement()
        try await app.killApp()
        try await app.wait(for: "its end") { $0.lastExit != nil }
        try app.order {
            $0.clientCertificate = server.certificates.clientCertificate
            $0.clientKey = server.certificates.clientKey
        }
        try await launchForDetour(app, server)
        #expect(app.seen(.sessionChallenge).map(\.space?.method) == [Self.trust, Self.certificate, Self.certificate])
    }

    // MARK: - Uploads

    @Test func `T5 T10: The service sends an upload again after kills, and the app gets one response`()
        async throws
    {
        let content = Content.seeded(size: 3 << 20, seed: 92)
        let app = try AppFixture()
        app.origin.serve("/up", Resource(content: .bytes([]), behaviours: [.stallUploadAfter(1 << 20).times(1)]))
        let source = try app.scratch.write(content.bytes(0..<content.size), to: "source")
        try app.order {
            var order = TransferOrder(app.origin.url("/up"), "upload")
            order.source = source
            $0.transfers = [order]
        }
        try await app.install()
        try await app.launch()
        try await app.origin.wait(for: "a part of the body", path: "/up") { $0.stalls == 1 }
        try await app.killApp()
        try await app.service.kill()
        #expect(app.seen(.completed).isEmpty && app.seen(.body).isEmpty)
        try await app.service.start()
        try await app.wait(for: .finishedEvents)
        try await app.waitUntilSuspended()

        #expect(app.backgroundStory() == [.launched, .body, .completed, .finishedEvents])
        #expect(app.seen(.launched).map(\.text) == ["foreground", "background"])
        #expect(app.seen(.body).map(\.text) == ["stored\n"])
        #expect(app.seen(.completed).map(\.status) == [201] && app.seen(.completed).map(\.code) == [nil])
        let requests = app.origin.requests(for: "/up")
        #expect(requests.map(\.status) == [nil, 201])
        #expect(requests.first.map { $0.body.length < content.size } == true, "the first had come to a part of it")
        #expect(try requests.last?.body.matches(content) == true)
        try await app.waitForAcknowledgement()
    }
}
