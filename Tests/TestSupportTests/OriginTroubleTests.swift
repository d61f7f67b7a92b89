import TestSupport
import Testing

/// Tests of broken bodies, heads and connections. curl exits with 18 for a short body, 28 for a timeout, 52 for no
/// response, and 56 for a reset.
@Suite(.timeLimit(.minutes(20)))
struct OriginTroubleTests {
    let origin: OriginServer
    let directory: TemporaryDirectory
    let content = Content.seeded(size: 3_000_001, seed: 7)
    var size: Int64 { content.size }

    init() throws {
        origin = try OriginServer()
        directory = try TemporaryDirectory()
    }

    func get(_ arguments: String..., behaviours: Behaviour...) async throws -> Fetched {
        origin.serve("/file", Resource(content: content, behaviours: behaviours))
        return try await Fetched.byCurl(origin.url("/file"), arguments, in: directory)
    }

    // MARK: - Bodies

    @Test func `The origin can cut one response and serve the next`() async throws {
        let cut = try await get(behaviours: .cutAfter(1_000_000).times(1))
        #expect(cut.code == 18)
        #expect(cut.body == content.bytes(0..<1_000_000))
        let rest = try await Fetched.byCurl(origin.url("/file"), ["-r", "1000000-"], in: directory)
        #expect(rest.code == 0)
        #expect(rest.body == content.bytes(1_000_000..<size))
        #expect(origin.totals().cuts == 1)
        #expect(origin.bodyBytesSent(for: "/file") == size)
    }

    @Test func `A behaviour can skip the first requests`() async throws {
        origin.serve("/file", Resource(content: content, behaviours: [.cutAfter(10).skippingFirst(1).times(1)]))
        var codes: [Int32?] = []
        for _ in 0..<3 { codes.append(try await Fetched.byCurl(origin.url("/file"), [], in: directory).code) }
        #expect(codes == [0, 18, 0])
    }

    @Test func `A behaviour applies only to its method`() async throws {
        let resource = Resource(content: content, behaviours: [.status(500).on("GET")])
        origin.serve("/file", resource)
        #expect(try await Fetched.byCurl(origin.url("/file"), ["--head"], in: directory).status == 200)
        #expect(try await Fetched.byCurl(origin.url("/file"), [], in: directory).status == 500)
    }

    @Test func `The origin can reset the connection during the body`() async throws {
        let reset = try await get(behaviours: .resetAfter(1_000_000))
        #expect(reset.code == 56)
        #expect(reset.body.count <= 1_000_000)
    }

    @Test func `The origin can stall during the body`() async throws {
        // curl gives up if the rate is below one byte in two seconds.
        let stalled = try await get("--speed-limit", "1", "--speed-time", "2", behaviours: .stallAfter(50_000))
        #expect(stalled.code == 28)
        #expect(stalled.body == content.bytes(0..<50_000))
        try await origin.wait(for: "the end of the stall") { $0.inFlight == 0 && $0.stalls == 1 }
    }

    @Test func `The origin can withhold the rest of the body until a gate opens`() async throws {
        let gate = Gate()
        origin.serve("/file", Resource(content: content, behaviours: [.holdAfter(1000, gate)]))
        async let fetched = Fetched.byCurl(origin.url("/file"), [], in: directory)
        try await origin.wait(for: "the first bytes", path: "/file") { $0.bodyBytesSent > 0 }
        #expect(origin.bodyBytesSent(for: "/file") == 1000)
        #expect(origin.requests.first?.isFinished == false)
        gate.open()
        #expect(try content.firstMismatch(inFileAt: try await fetched.file) == nil)
    }

    @Test func `The origin can limit the rate of the body`() async throws {
        let start = ContinuousClock.now
        #expect(try await get(behaviours: .throttle(bytesPerSecond: 6_000_000)).code == 0)
        let taken = start.duration(to: .now)
        #expect(taken > .milliseconds(480))
    }

    @Test func `The origin can send the body byte by byte`() async throws {
        let start = ContinuousClock.now
        origin.serve("/file", .text(String(repeating: "x", count: 100), .slowDrip(bytesPerSecond: 100)))
        async let dripped = Fetched.byCurl(origin.url("/file"), [], in: directory)
        // The body arrives byte by byte.
        try await origin.wait(for: "some of it", path: "/file") { (1..<100).contains($0.bodyBytesSent) }
        #expect(try await dripped.body.count == 100)
        #expect(start.duration(to: .now) > .milliseconds(900))
    }

    @Test func `The origin can frame bodies in chunks, by a close or with a wrong length`() async throws {
        for behaviour in [Behaviour.chunked(), .closeDelimited] {
            let fetched = try await get(behaviours: behaviour)
            #expect(fetched.code == 0 && fetched.field("Content-Length") == nil)
            #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
        }
        #expect(try await get(behaviours: .chunked(lastChunk: false)).code == 18)
        #expect(try await get(behaviours: .contentLengthTooLong(by: 1)).code == 18)
        #expect(try await get(behaviours: .contentLengthTooShort(by: 1)).body.count == Int(size) - 1)
        // Without a length, a cut connection looks like the end of the body.
        let short = try await get(behaviours: .closeDelimited, .cutAfter(1000))
        #expect(short.code == 0 && short.body.count == 1000)
        #expect(try await get(behaviours: .http10).heads.hasPrefix("HTTP/1.0 200"))
        #expect(try await get(behaviours: .gzipDespiteIdentity).field("Content-Encoding") == "gzip")
    }

    // MARK: - Heads

    @Test func `The origin can send a broken head, an endless one, or none`() async throws {
        #expect(try await get(behaviours: .closeBeforeHead).code == 52)
        #expect(try await get(behaviours: .resetBeforeHead).code == 56)
        #expect(try await get("--max-time", "0.3", behaviours: .stallHead).code == 28)
        // Exit code 1 says that curl does not support this protocol (HTTP/0.9).
        #expect(try await get(behaviours: .garbageStatusLine()).code == 1)
        let endless = try await get("--max-time", "30", behaviours: .endlessHeader)
        // curl gives up at 300 KB. Older versions keep reading until their timeout.
        #expect(endless.code != 0 && endless.heads.utf8.count > 200_000)
    }

    @Test func `The origin can send interim responses and additional fields`() async throws {
        let fetched = try await get(
            behaviours: .interimResponses([102, 103]), .contentDisposition("attachment; filename=a.bin"),
            .field("X-Extra", "1"))
        #expect(fetched.statuses == [102, 103, 200])
        #expect(fetched.field("Content-Disposition") == "attachment; filename=a.bin")
        #expect(fetched.field("X-Extra") == "1")
        #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
    }

    // MARK: - Other responses

    @Test func `The origin can refuse one request with Retry-After and serve the next`() async throws {
        let refusal = Behaviour.status(429, retryAfter: .seconds(3), body: "no")
        origin.serve("/file", Resource(content: content, behaviours: [refusal.times(1)]))
        let refused = try await Fetched.byCurl(origin.url("/file"), [], in: directory)
        #expect(refused.status == 429 && refused.field("Retry-After") == "3" && refused.body == Array("no".utf8))
        #expect(try await Fetched.byCurl(origin.url("/file"), [], in: directory).status == 200)
        let dated = try await get(behaviours: .status(503, retryAfter: .dateIn(seconds: 60)))
        #expect(dated.field("Retry-After")?.hasSuffix(" GMT") == true)
        #expect(try await Fetched.byCurl(origin.url("/nothing"), [], in: directory).status == 404)
    }

    @Test func `The origin can send a redirect, a chain of redirects or a loop`() async throws {
        origin.serve("/from", .text("", .redirect(to: "/file", status: 307)))
        origin.serve("/file", Resource(content: content))
        #expect(try await Fetched.byCurl(origin.url("/from"), ["-L"], in: directory).statuses == [307, 200])
        origin.serve("/chain", .text("end", .redirectChain(5)))
        let chain = try await Fetched.byCurl(origin.url("/chain"), ["-L"], in: directory)
        #expect(chain.statuses == [302, 302, 302, 302, 302, 200] && chain.body == Array("end".utf8))
        origin.serve("/loop", .text("", .redirectLoop()))
        // Exit code 47 says that there were too many redirects.
        #expect(try await Fetched.byCurl(origin.url("/loop"), ["-L", "--max-redirs", "7"], in: directory).code == 47)
    }

    @Test func `The origin can replace a file while it sends the old one`() async throws {
        let next = Resource(content: .seeded(size: size, seed: 8))
        let first = try await get(behaviours: .swapDuringTransfer(after: 500_000, to: next))
        #expect(try content.firstMismatch(inFileAt: first.file) == nil)
        let second = try await Fetched.byCurl(origin.url("/file"), [], in: directory)
        #expect(try next.contentMatches(file: second.file))
        #expect(first.field("ETag") != second.field("ETag"))
    }

    @Test func `The origin can withhold all bytes after an offset until a gate opens`() async throws {
        let gate = Gate()
        origin.serve("/file", Resource(content: content, behaviours: [.holdFrom(1000, gate)]))
        async let whole = Fetched.byCurl(origin.url("/file"), [], in: directory)
        try await origin.wait(for: "the first bytes", path: "/file") { $0.bodyBytesSent == 1000 }
        async let rest = Fetched.byCurl(origin.url("/file"), ["-r", "900-"], in: directory)
        try await origin.wait(for: "those before the offset", path: "/file") { $0.bodyBytesSent == 1100 }
        gate.open()
        #expect(try content.firstMismatch(inFileAt: try await whole.file) == nil)
        #expect(try await rest.body == content.bytes(900..<content.size))
    }

    @Test func `The origin can refuse requests above a connection limit`() async throws {
        let gate = Gate()
        origin.serve("/file", Resource(content: content, behaviours: [.connectionLimit(1), .holdAfter(10, gate)]))
        async let first = Fetched.byCurl(origin.url("/file"), [], in: directory)
        try await origin.wait(for: "the first", path: "/file") { $0.bodyBytesSent > 0 }
        #expect(try await Fetched.byCurl(origin.url("/file"), [], in: directory).status == 503)
        gate.open()
        #expect(try await first.status == 200)
        #expect(origin.totals(for: "/file").peakInFlight == 2)
    }
}
