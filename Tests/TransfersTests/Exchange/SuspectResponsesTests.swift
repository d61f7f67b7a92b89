import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of suspect responses, which do not look like a new version of a file (T8, B2).
@Suite struct SuspectResponsesTests {
    private static func known(
        _ count: Int64 = 10, of total: Int64? = 3_000_000, type: String? = "application/zip", tag: String? = "\"a\"",
        modified: String? = oldDate
    ) -> PartialBytes {
        var bytes = partial(count, of: total, tag: tag, modified: modified)
        bytes.mediaType = type
        return bytes
    }

    private static func doubt(_ verdict: Verdict) -> SuspectResponse? {
        if case .doubt(let doubt, _) = verdict { doubt } else { nil }
    }

    private static let page = head(200, ["Content-Type": "text/html; charset=utf-8", "Content-Length": "18"])

    @Test func `T8: A log-in page is not taken for a new version`() throws {
        let verdict = judge(Self.page, Self.known())
        #expect(Self.doubt(verdict)?.times == 1)
        guard case .doubt(_, let failure) = verdict else { return }
        #expect(failure.message.contains("18 bytes of text/html without a validator"))
        #expect(failure.message.contains("3000000 bytes of application/zip"))
        #expect(!failure.isPermanent)
    }

    @Test(
        arguments: [
            (head(200, ["Content-Type": "text/html", "ETag": "\"b\"", "Last-Modified": newDate]), true),
            (head(200, ["Content-Type": "image/png", "ETag": "\"b\""]), true),
            (head(200, ["Content-Length": "18"]), true), (head(200), true),
            (head(204, ["Content-Type": "text/html"]), true), (head(204), true),
            // These are ordinary new versions.
            (head(200, ["Content-Type": "Application/ZIP", "ETag": "\"b\"", "Content-Length": "18"]), false),
            (head(200, ["ETag": "\"b\""]), false), (head(200, ["Last-Modified": newDate]), false),
            (head(206, ["Content-Type": "application/zip", "ETag": "\"b\""]), false),
            // This response comes from one of several servers, and has no validators.
            (head(200, ["Content-Type": "application/zip", "Content-Length": "3000000"]), false),
            // These responses have an error status, so they are not the file.
            (head(404, ["Content-Type": "text/html"]), false), (head(503, ["Content-Type": "text/html"]), false),
        ] as [(ResponseHead, Bool)])
    func `T8: A response that does not look like a new version is suspect`(_ answer: ResponseHead, _ isDoubted: Bool) {
        #expect((Self.doubt(judge(answer, Self.known())) != nil) == isDoubted, "\(judge(answer, Self.known()))")
    }

    /// The cases consist of the few known facts about the file, a response with as few facts, and whether it is
    /// suspect.
    @Test(
        arguments: [
            // Here a page of unknown length arrives instead of another page.
            (known(type: "text/html"), head(200, ["Content-Type": "text/html"]), true),
            (known(type: "text/html"), head(200, chunked("text/html")), true),
            (known(type: "text/html"), head(200, ["Content-Type": "text/html", "ETag": "\"b\""]), false),
            (known(type: "text/html"), head(200, ["Content-Type": "text/html", "Content-Length": "3000000"]), false),
            // Here neither media type is known.
            (known(type: nil), head(200, ["Transfer-Encoding": "chunked"]), true),
            (known(type: nil), head(200, ["Content-Length": "3000000"]), false),
            (known(of: nil, type: nil), head(200, ["Content-Length": "18"]), true),
            // Here only the length was known.
            (known(type: nil, tag: nil, modified: nil), page, true),
            (known(type: nil, tag: nil, modified: nil), head(200, chunked("text/html")), true),
            (
                known(type: nil, tag: nil, modified: nil),
                head(200, ["Content-Type": "text/html", "Content-Length": "3000000"]), false
            ),
            (known(type: nil, tag: nil, modified: nil), head(200, ["Content-Length": "18"]), false),
            // Here only the media type was known. The length of a generated file differs each time.
            (known(tag: nil, modified: nil), head(200, ["Content-Length": "18"]), true),
            (known(tag: nil, modified: nil), head(200, chunked("application/zip")), false),
        ] as [(PartialBytes, ResponseHead, Bool)])
    func `T8: A field that is missing in a response does not make the response trustworthy`(
        _ bytes: PartialBytes, _ answer: ResponseHead, _ isDoubted: Bool
    ) {
        #expect((Self.doubt(judge(answer, bytes)) != nil) == isDoubted, "\(judge(answer, bytes))")
    }

    private static func chunked(_ type: String) -> KeyValuePairs<String, String> {
        ["Content-Type": type, "Transfer-Encoding": "chunked"]
    }

    @Test func `T8: A page is suspect even if the download cannot resume from the bytes on disk`() {
        var unusable = Self.known()
        unusable.condition = .unusable
        #expect(Self.doubt(judge(Self.page, unusable)) != nil)
        #expect(Self.doubt(judge(Self.page, Self.known(0))) != nil)
        #expect(Self.doubt(judge(Self.page, nil)) == nil)
        #expect(Self.doubt(judge(Self.page, Self.known(type: "text/html", tag: nil, modified: nil))) == nil)
    }

    @Test func `T8: Another server's response is suspect as a page, but not for another media type`() {
        var bytes = Self.known()
        bytes.isOfAnotherURL = true
        #expect(Self.doubt(judge(Self.page, bytes)) != nil)
        #expect(Self.doubt(judge(head(200, ["Content-Type": "application/octet-stream"]), bytes)) == nil)
    }

    @Test func `T8: A suspect response is accepted as a new version after enough repetitions`() {
        var bytes = Self.known()
        for times in 1..<SuspectResponses.enough {
            let found = Self.doubt(judge(Self.page, bytes))
            #expect(found?.times == times)
            bytes.doubt = found
        }
        #expect(judge(Self.page, bytes).lossReason != nil)
        // The count of repetitions starts again for another kind of response.
        let other = head(200, ["Content-Type": "image/png", "Content-Length": "18"])
        #expect(Self.doubt(judge(other, bytes))?.times == 1)
    }

    @Test func `T8: Pages whose URLs differ only in their queries count as the same response`() {
        var bytes = Self.known()
        for times in 1..<SuspectResponses.enough {
            var page = Self.page
            page.url = "http://portal.example/login?time=\(times)"
            bytes.doubt = Self.doubt(judge(page, bytes))
            #expect(bytes.doubt?.times == times)
        }
    }

    @Test func `T8: A response behind a captive portal never counts as a repetition`() {
        var bytes = Self.known()
        var policy = lenient
        policy.isBehindPortal = true
        for _ in 0..<20 {
            let found = Self.doubt(judge(Self.page, bytes, policy))
            #expect(found?.times == 1)
            bytes.doubt = found
        }
    }

    @Test func `T8: The pauses between suspect responses grow`() {
        let pauses = (0...6).map { SuspectResponses.pause(times: $0) }
        #expect(pauses == pauses.sorted() && pauses.allSatisfy { $0 >= 30 })
        #expect(pauses[1...4].reduce(0, +) > 1_800)
    }

    @Test func `T8: A 511 comes from the network and is never the file`() {
        guard case .retryLater = judge(head(511, ["Content-Type": "text/html"]), nil, lenient) else {
            Issue.record("taken for the file")
            return
        }
    }

    private static func first(_ name: String, doubt: SuspectResponse? = nil, isBehindPortal: Bool = false)
        -> ResponsePolicy
    {
        var policy = lenient
        policy.expectedName = name
        policy.firstDoubt = doubt
        policy.isBehindPortal = isBehindPortal
        return policy
    }

    @Test(
        arguments: [
            ("big.iso", "text/html", true), ("A.ZIP", "text/html; charset=utf-8", true),
            ("report.pdf", "application/xhtml+xml", true), ("big.iso", "application/octet-stream", false),
            ("big.iso", "text/plain", false), ("index.html", "text/html", false), ("download", "text/html", false),
            ("page.php", "text/html", false), ("v1.2", "text/html", false), (".zip", "text/html", false),
        ])
    func `T8: A page as the first response is suspect if the file name contradicts its media type`(
        name: String, type: String, isDoubted: Bool
    ) {
        let answer = head(200, ["Content-Type": "\(type)", "Content-Length": "18"])
        #expect((Self.doubt(judge(answer, nil, Self.first(name))) != nil) == isDoubted)
        // Behind a captive portal the service trusts no page, but every other response.
        let isPage = type.contains("html")
        #expect((Self.doubt(judge(answer, nil, Self.first(name, isBehindPortal: true))) != nil) == isPage)
    }

    @Test func `T8: The second page that arrives instead of a file is accepted as the file`() throws {
        let found = try #require(Self.doubt(judge(Self.page, nil, Self.first("big.iso"))))
        #expect(found.times == 1)
        guard case .fresh(_, restart: nil) = judge(Self.page, nil, Self.first("big.iso", doubt: found)) else {
            Issue.record("not taken")
            return
        }
    }

    @Test func `T8: Pages behind a captive portal or from a mirror do not count as repetitions`() {
        var policy = Self.first("big.iso", isBehindPortal: true)
        for _ in 0..<20 {
            policy.firstDoubt = Self.doubt(judge(Self.page, nil, policy))
            #expect(policy.firstDoubt?.times == 0)
        }
        policy.isBehindPortal = false
        policy.asksOwnURL = false
        #expect(Self.doubt(judge(Self.page, nil, policy))?.times == 0)
        policy.asksOwnURL = true
        #expect(Self.doubt(judge(Self.page, nil, policy))?.times == 1)
    }

    @Test(arguments: [404, 206, 403]) func `T8: Only a page that would be saved as the file is suspect`(status: Int) {
        let answer = head(status, ["Content-Type": "text/html"])
        #expect(Self.doubt(judge(answer, nil, Self.first("big.iso", isBehindPortal: true))) == nil)
    }
}
