import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct WebServerTests {
    let directory: TemporaryDirectory
    let content = Content.seeded(size: 2_000_003, seed: 4)

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write(content.bytes(0..<content.size), to: "upload")
    }

    func get(_ url: String, _ arguments: String...) async throws -> Fetched {
        try await Fetched.byCurl(url, arguments, in: directory)
    }

    private func servesFilesAndTakesUploads(_ server: WebServer, _ arguments: [String] = []) async throws {
        try server.publish("file", content)
        let whole = try await Fetched.byCurl(server.url("/file"), arguments, in: directory)
        #expect(whole.status == 200 && whole.field("ETag")?.hasPrefix("\"") == true)
        #expect(try content.firstMismatch(inFileAt: whole.file) == nil)
        let part = try await Fetched.byCurl(server.url("/file"), arguments + ["-r", "5-9"], in: directory)
        #expect(part.status == 206 && part.body == content.bytes(5..<10))
        let upload = ["-T", directory.path("upload")]
        let put = try await Fetched.byCurl(server.url("\(WebServer.uploadPath)new"), arguments + upload, in: directory)
        #expect(put.status == 201)
        #expect(try content.firstMismatch(inFileAt: "\(server.documents)\(WebServer.uploadPath)new") == nil)
    }

    @Test func `nginx serves files and stores uploads`() async throws {
        let server = try await WebServer.nginx()
        try await servesFilesAndTakesUploads(server)
        server.stop()
        #expect(try await get(server.url("/file")).code == 7)
    }

    @Test func `nginx serves files over TLS and HTTP/2`() async throws {
        var options = WebServer.NginxOptions()
        let certificates = try await TestCertificates()
        options.certificates = certificates
        let server = try await WebServer.nginx(options)
        try await servesFilesAndTakesUploads(server, ["--cacert", certificates.authority])
        let fetched = try await get(server.url("/file"), "--cacert", certificates.authority)
        #expect(fetched.heads.hasPrefix("HTTP/2 200"))
        // Exit code 60 says that the certificate is not trusted.
        #expect(try await get(server.url("/file")).code == 60)
    }

    @Test func `nginx can require a client certificate`() async throws {
        var options = WebServer.NginxOptions()
        let certificates = try await TestCertificates()
        options.certificates = certificates
        options.requiresClientCertificate = true
        options.hasHTTP2 = false
        let server = try await WebServer.nginx(options)
        try server.publish("file", content)
        let authority = ["--cacert", certificates.authority]
        #expect(try await Fetched.byCurl(server.url("/file"), authority, in: directory).status == 400)
        let own = ["--cert", certificates.clientCertificate, "--key", certificates.clientKey]
        let fetched = try await Fetched.byCurl(server.url("/file"), authority + own, in: directory)
        #expect(fetched.heads.hasPrefix("HTTP/1.1 200"))
    }

    @Test func `nginx can limit the rate of a response`() async throws {
        var options = WebServer.NginxOptions()
        options.limitRate = 1_000_000
        let server = try await WebServer.nginx(options)
        try server.publish("file", content)
        let start = ContinuousClock.now
        #expect(try await get(server.url("/file")).code == 0)
        #expect(start.duration(to: .now) > .milliseconds(900))
    }

    @Test func `Apache serves files, stores uploads, and requires Basic or Digest credentials`() async throws {
        let server = try await WebServer.apache()
        try await servesFilesAndTakesUploads(server)
        #expect(try await get(server.url("/basic/file")).status == 401)
        #expect(try await get(server.url("/basic/file"), "-u", "night:shift").status == 200)
        let digest = try await get(server.url("/digest/file"), "--digest", "-u", "night:shift")
        #expect(digest.statuses == [401, 200])
        #expect(try await get(server.url("/digest/file"), "--digest", "-u", "night:wrong").status == 401)
    }

    @Test func `A web server with an invalid configuration throws an error`() async throws {
        var options = WebServer.NginxOptions()
        options.extra = "no such directive;"
        await #expect(throws: WebServer.CannotStart.self) { try await WebServer.nginx(options) }
    }
}
