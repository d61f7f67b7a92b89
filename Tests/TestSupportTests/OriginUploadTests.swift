import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OriginUploadTests {
    let origin: OriginServer
    let directory: TemporaryDirectory
    let content = Content.seeded(size: 2_500_000, seed: 9)

    init() throws {
        origin = try OriginServer()
        directory = try TemporaryDirectory()
        try directory.write(content.bytes(0..<content.size), to: "upload")
    }

    func put(_ arguments: String..., behaviours: Behaviour...) async throws -> Fetched {
        origin.serve("/up", Resource(content: .bytes([]), behaviours: behaviours))
        return try await Fetched.byCurl(
            origin.url("/up"), ["-T", directory.path("upload")] + arguments, in: directory)
    }

    @Test func `The origin stores the body of a large upload in a file`() async throws {
        #expect(try await put().statuses == [100, 201])
        let body = try #require(origin.requests.first?.body)
        #expect(body.length == content.size && body.file != nil)
        #expect(try body.matches(content))
        #expect(try body.sha256() == content.sha256())
        #expect(try !body.matches(.seeded(size: content.size, seed: 10)))
    }

    @Test func `The origin stores small and chunked bodies in memory`() async throws {
        origin.serve("/up", Resource(content: .bytes([])))
        let chunked = ["--data-binary", "abc", "-H", "Transfer-Encoding: chunked"]
        #expect(try await Fetched.byCurl(origin.url("/up"), chunked, in: directory).status == 200)
        #expect(try await Fetched.byCurl(origin.url("/up"), ["-d", "defg"], in: directory).status == 200)
        #expect(origin.requests.map { $0.body.bytes } == [Array("abc".utf8), Array("defg".utf8)])
    }

    @Test func `The origin can ignore, refuse or answer Expect: 100-continue`() async throws {
        let ignored = try await put("--expect100-timeout", "0.1", behaviours: .ignoreExpect)
        #expect(ignored.statuses == [201])
        #expect(try origin.requests.last?.body.matches(content) == true)
        // curl sends the request again without the `Expect` field.
        #expect(try await put(behaviours: .refuseExpect).statuses == [417, 201])
        let refused = try await put(behaviours: .status(403))
        #expect(refused.statuses == [403])
        #expect(origin.requests.last?.body.length == 0)
    }

    @Test func `The origin can cut, reset or stall an upload`() async throws {
        #expect(try await put(behaviours: .cutUploadAfter(500_000)).code != 0)
        #expect(try await put(behaviours: .resetUploadAfter(500_000)).code != 0)
        #expect(try await put("--max-time", "10", behaviours: .stallUploadAfter(500_000)).code == 28)
        for request in origin.requests {
            #expect(request.body.length >= 500_000 && request.body.length < content.size)
        }
    }

    @Test func `The origin can limit the rate of an upload`() async throws {
        let start = ContinuousClock.now
        #expect(try await put(behaviours: .throttleUpload(bytesPerSecond: 5_000_000)).status == 201)
        #expect(start.duration(to: .now) > .milliseconds(480))
    }

    // MARK: - Credentials

    @Test func `The origin accepts only the right Basic credentials`() async throws {
        origin.serve("/file", .text("secret", .requireBasic(user: "u", password: "p:q")))
        #expect(try await Fetched.byCurl(origin.url("/file"), [], in: directory).status == 401)
        #expect(try await Fetched.byCurl(origin.url("/file"), ["-u", "u:wrong"], in: directory).status == 401)
        #expect(try await Fetched.byCurl(origin.url("/file"), ["-u", "u:p:q"], in: directory).status == 200)
    }

    @Test(arguments: [DigestAlgorithm.md5, .sha256])
    func `The origin accepts only the right Digest credentials`(algorithm: DigestAlgorithm) async throws {
        origin.serve("/file", .text("secret", .requireDigest(user: "u", password: "p", algorithm: algorithm)))
        func get(_ credentials: String) async throws -> Fetched {
            try await Fetched.byCurl(origin.url("/file?q=1"), ["--digest", "-u", credentials], in: directory)
        }
        #expect(try await get("u:wrong").statuses == [401, 401])
        let right = try await get("u:p")
        #expect(right.statuses == [401, 200] && right.body == Array("secret".utf8))
    }

    @Test func `The origin refuses Digest credentials with an unknown nonce`() async throws {
        origin.serve("/file", .text("secret", .requireDigest(user: "u", password: "p")))
        let header = "Authorization: Digest username=\"u\", realm=\"origin\", nonce=\"old\", uri=\"/file\", qop=auth"
        let stale = try await Fetched.byCurl(origin.url("/file"), ["-H", header], in: directory)
        #expect(stale.status == 401 && stale.field("WWW-Authenticate")?.contains("stale=true") == true)
    }
}
