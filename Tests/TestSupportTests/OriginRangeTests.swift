import NightshiftAPI
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20)))
struct OriginRangeTests {
    let origin: OriginServer
    let directory: TemporaryDirectory
    let content = Content.seeded(size: 3_000_001, seed: 7)
    var size: Int64 { content.size }
    var tag: String { content.etag }
    let date = HTTPDate.format(Double(Resource.defaultLastModified))

    init() throws {
        origin = try OriginServer()
        directory = try TemporaryDirectory()
    }

    func get(_ arguments: String..., behaviours: Behaviour...) async throws -> Fetched {
        origin.serve("/file", Resource(content: content, behaviours: behaviours))
        return try await Fetched.byCurl(origin.url("/file"), arguments, in: directory)
    }

    // MARK: - Correct responses

    @Test func `The origin sends the whole file with its length and validators`() async throws {
        let fetched = try await get()
        #expect(fetched.status == 200)
        #expect(fetched.field("Content-Length") == "\(size)")
        #expect(fetched.field("ETag") == tag)
        #expect(fetched.field("Last-Modified") == date)
        #expect(fetched.field("Accept-Ranges") == "bytes")
        #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
        #expect(origin.bodyBytesSent(for: "/file") == size)
    }

    @Test(arguments: [
        ("0-0", Int64(0)..<Int64(1)), ("1000000-", 1_000_000..<3_000_001), ("70000-140000", 70_000..<140_001),
        ("-5", 2_999_996..<3_000_001), ("3000000-9999999", 3_000_000..<3_000_001), ("-9999999", 0..<3_000_001),
    ])
    func `The origin sends a requested range`(asked: String, expected: Range<Int64>) async throws {
        let fetched = try await get("-r", asked)
        #expect(fetched.status == 206)
        #expect(fetched.field("Content-Range") == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)")
        #expect(fetched.body == content.bytes(expected))
    }

    @Test(arguments: ["3000001-", "9999999-", "-0"])
    func `The origin refuses a range after the end with 416`(asked: String) async throws {
        let fetched = try await get("-r", asked)
        #expect(fetched.status == 416)
        #expect(fetched.field("Content-Range") == "bytes */\(size)")
    }

    @Test(arguments: ["5-3", "0-1,4-5", "x-y", "-"])
    func `The origin sends the whole file if a range is invalid or multiple`(asked: String) async throws {
        #expect(try await get("-H", "Range: bytes=\(asked)").status == 200)
    }

    @Test func `The origin sends a range only if If-Range matches`() async throws {
        #expect(try await get("-r", "5-", "-H", "If-Range: \(tag)").status == 206)
        #expect(try await get("-r", "5-", "-H", "If-Range: \(date)").status == 206)
        #expect(try await get("-r", "5-", "-H", "If-Range: \"other\"").status == 200)
        #expect(try await get("-r", "5-", "-H", "If-Range: Wed, 01 Jan 2020 00:00:00 GMT").status == 200)
        #expect(try await get("-r", "5-", "-H", "If-Range: W/\(tag)").status == 200)
    }

    @Test func `The origin evaluates If-Match and If-None-Match`() async throws {
        #expect(try await get("-H", "If-None-Match: W/\(tag)").status == 304)
        #expect(try await get("-H", "If-None-Match: \"other\"").status == 200)
        #expect(try await get("-H", "If-Match: \(tag)").status == 200)
        #expect(try await get("-H", "If-Match: \"other\"").status == 412)
    }

    @Test func `The origin answers HEAD without a body`() async throws {
        let fetched = try await get("--head")
        #expect(fetched.status == 200)
        #expect(fetched.field("Content-Length") == "\(size)")
        #expect(origin.bodyBytesSent(for: "/file") == 0)
    }

    // MARK: - Faulty responses

    @Test func `The origin can ignore ranges`() async throws {
        let fetched = try await get("-r", "5-", behaviours: .ignoreRange)
        #expect(fetched.status == 200)
        #expect(try content.firstMismatch(inFileAt: fetched.file) == nil)
    }

    @Test func `The origin can ignore ranges only if If-Range has an entity tag`() async throws {
        let quirk = Behaviour.ignoreRangeIfETagIfRange
        #expect(try await get("-r", "5-", "-H", "If-Range: \(tag)", behaviours: quirk).status == 200)
        #expect(try await get("-r", "5-", "-H", "If-Range: \(date)", behaviours: quirk).status == 206)
        #expect(try await get("-r", "5-", behaviours: quirk).status == 206)
    }

    @Test func `The origin can ignore If-Range`() async throws {
        #expect(try await get("-r", "5-", "-H", "If-Range: \"other\"", behaviours: .ignoreIfRange).status == 206)
    }

    @Test func `The origin can start a range at an earlier block boundary`() async throws {
        let fetched = try await get("-r", "70000-", behaviours: .earlyRange(blockSize: 65_536))
        #expect(fetched.field("Content-Range") == "bytes 65536-3000000/\(size)")
        #expect(fetched.body == content.bytes(65_536..<size))
    }

    @Test func `The origin can send a shorter range and declare it`() async throws {
        let fetched = try await get("-r", "70000-", behaviours: .shortRange(1000))
        #expect(fetched.code == 0)
        #expect(fetched.field("Content-Range") == "bytes 70000-70999/\(size)")
        #expect(fetched.body == content.bytes(70_000..<71_000))
    }

    @Test func `The origin can refuse every range`() async throws {
        #expect(try await get("-r", "5-", behaviours: .refuseRange).status == 416)
        #expect(try await get(behaviours: .refuseRange).status == 200)
    }

    @Test func `The origin can send ranges that contradict their header fields`() async throws {
        let honest = content.bytes(100..<200)
        let start = try await get("-H", "Range: bytes=100-199", behaviours: .lyingRange(.wrongStart(by: 7)))
        #expect(start.body == honest)
        #expect(start.field("Content-Range") == "bytes 107-206/\(size)")
        let total = try await get("-r", "100-199", behaviours: .lyingRange(.wrongTotal(by: 1)))
        #expect(total.field("Content-Range") == "bytes 100-199/\(size + 1)")
        #expect(total.body == honest)
        let bytes = try await get("-r", "100-199", behaviours: .lyingRange(.wrongBytes(by: 50)))
        #expect(bytes.field("Content-Range") == "bytes 100-199/\(size)")
        #expect(bytes.body == content.bytes(150..<250))
        let missing = try await get("-r", "100-199", behaviours: .lyingRange(.missingContentRange))
        #expect(missing.status == 206 && missing.field("Content-Range") == nil)
        let multipart = try await get("-r", "100-199", behaviours: .lyingRange(.multipart))
        #expect(multipart.field("Content-Type")?.hasPrefix("multipart/byteranges; boundary=") == true)
        #expect(multipart.body.count > honest.count)
        let garbage = try await get("-H", "Range: bytes=100-199", behaviours: .lyingRange(.garbage))
        #expect(garbage.field("Content-Range") == "bytes somewhere/unknown")
    }

    // MARK: - Validators

    @Test func `The origin can omit, weaken or change validators`() async throws {
        #expect(try await get(behaviours: .weakETag).field("ETag") == "W/\(tag)")
        #expect(try await get("-r", "5-", "-H", "If-Range: W/\(tag)", behaviours: .weakETag).status == 200)
        #expect(try await get(behaviours: .noETag).field("ETag") == nil)
        #expect(try await get(behaviours: .noLastModified).field("Last-Modified") == nil)
        let none = try await get(behaviours: .noValidators)
        #expect(none.field("ETag") == nil && none.field("Last-Modified") == nil)
        let first = try await get(behaviours: .changingETagPerRequest).field("ETag")
        let second = try await get(behaviours: .changingETagPerRequest).field("ETag")
        #expect(first != nil && first != second)
        let dated = try await get(behaviours: .lastModifiedEqualsDate)
        #expect(dated.field("Date") == date && dated.field("Last-Modified") == date)
    }

    @Test func `The origin can send right and wrong digests`() async throws {
        let whole = content.sha256().base64
        #expect(try await get(behaviours: .reprDigest()).field("Repr-Digest") == "sha-256=:\(whole):")
        let wrong = try await get(behaviours: .reprDigest(right: false)).field("Repr-Digest")
        #expect(wrong?.hasPrefix("sha-256=:") == true && wrong != "sha-256=:\(whole):")
        let part = try await get("-r", "5-9", behaviours: .contentDigest(), .reprDigest())
        #expect(part.field("Content-Digest") == "sha-256=:\(content.sha256(5..<10).base64):")
        #expect(part.field("Repr-Digest") == "sha-256=:\(whole):")
    }
}
