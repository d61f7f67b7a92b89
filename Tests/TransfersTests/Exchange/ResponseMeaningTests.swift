import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Tests of the table in docs/transfers.md: status, kind of request, framing and end, in every combination.
@Suite struct ResponseMeaningTests {
    /// The policies of `nightshift get`, of an app, and of a task that fails on errors without waiting for a better
    /// response.
    private static let policies = [
        strict, lenient, ResponsePolicy(retry: .never, failsOnHTTPError: true),
    ]

    /// A row of the table: the meanings of some statuses for each of ``policies``.
    private struct Row {
        var statuses: [Int]
        var whole: [ResponseMeaning]
        var rest: [ResponseMeaning]
        var answer: [ResponseMeaning]
    }

    private static let named: [Row] = [
        Row(
            statuses: Array(100...199), whole: [.invalid, .invalid, .invalid], rest: [.invalid, .invalid, .invalid],
            answer: [.invalid, .invalid, .invalid]),
        Row(
            statuses: [201, 204, 205, 207, 208, 226], whole: [.refused, .result, .refused],
            rest: [.notTheRest, .notTheRest, .notTheRest], answer: [.result, .result, .result]),
        Row(
            statuses: [202], whole: [.notReady, .result, .refused], rest: [.notReady, .notTheRest, .notTheRest],
            answer: [.result, .result, .result]),
        Row(
            statuses: [304], whole: [.refused, .result, .refused], rest: [.notTheRest, .notTheRest, .notTheRest],
            answer: [.refused, .result, .refused]),
        Row(
            statuses: [400, 412], whole: [.refused, .result, .refused],
            rest: [.rangeRejected, .rangeRejected, .rangeRejected], answer: [.refused, .result, .refused]),
        Row(
            statuses: [416], whole: [.refused, .result, .refused],
            rest: [.rangeUnsatisfied, .rangeUnsatisfied, .rangeUnsatisfied], answer: [.refused, .result, .refused]),
        Row(
            statuses: [408, 425, 429] + [500, 502, 503, 504] + Array(506...510) + Array(512...599),
            whole: [.passing, .result, .refused], rest: [.passing, .result, .refused],
            answer: [.passing, .result, .refused]),
        Row(
            statuses: [511], whole: [.passing, .passing, .passing], rest: [.passing, .passing, .passing],
            answer: [.passing, .passing, .passing]),
    ]

    /// The row of all other successes: 200, 203, 206 with all bytes, and statuses that are not in the registry.
    private static let success = Row(
        statuses: [], whole: [.whole, .whole, .whole], rest: [.whole, .whole, .whole],
        answer: [.result, .result, .result])
    /// The row of all other statuses: redirects that cannot be followed, 407, 421, 451, 501, 505, and 600 to 999.
    private static let failure = Row(
        statuses: [], whole: [.refused, .result, .refused], rest: [.refused, .result, .refused],
        answer: [.refused, .result, .refused])

    private static func row(_ status: Int) -> Row {
        named.first { $0.statuses.contains(status) } ?? ((200...299).contains(status) ? success : failure)
    }

    @Test func `T8: Each status has one meaning for each request and policy`() {
        for status in 100...999 {
            let row = Self.row(status)
            for (index, policy) in Self.policies.enumerated() {
                func meaning(_ asked: Asked) -> ResponseMeaning {
                    ResponseMeaning(status: status, isPart: false, asked: asked, policy: policy)
                }
                #expect(meaning(.whole) == row.whole[index], "\(status), \(policy)")
                #expect(meaning(.rest) == row.rest[index], "\(status), \(policy)")
                #expect(meaning(.answer) == row.answer[index], "\(status), \(policy)")
            }
        }
    }

    @Test func `T8: Every download treats a 2xx with the fields of a part as a part`() {
        for status in 200...299 {
            for policy in Self.policies {
                for asked in [Asked.whole, .rest] {
                    #expect(ResponseMeaning(status: status, isPart: true, asked: asked, policy: policy) == .part)
                }
                let result = ResponseMeaning(status: status, isPart: true, asked: .answer, policy: policy)
                #expect(result == .result)
            }
        }
    }

    // MARK: The end of the body

    private struct Framed: Sendable {
        var fields: [HeaderField]
        var version = "1.1"
        /// Whether five bytes are announced. Otherwise only the end of the connection or stream marks the end of the
        /// body.
        var hasLength: Bool

        init(_ fields: KeyValuePairs<String, String>, version: String = "1.1", hasLength: Bool) {
            self.fields = fields.map { HeaderField(name: $0.key, value: $0.value) }
            self.version = version
            self.hasLength = hasLength
        }

        func head(_ status: Int, _ more: KeyValuePairs<String, String> = [:]) -> ResponseHead {
            ResponseHead(
                status: status, headers: more.map { HeaderField(name: $0.key, value: $0.value) } + fields,
                httpVersion: version, url: "http://example.org/file", method: "GET")
        }
    }

    private static let framings = [
        Framed(["Content-Length": "5"], hasLength: true),
        Framed(["Content-Length": "5"], version: "1.0", hasLength: true),
        Framed(["Content-Length": "5"], version: "2", hasLength: true),
        Framed(["Content-Length": "5", "Content-Length": "5"], hasLength: true),
        Framed(["Content-Length": "5", "Transfer-Encoding": "identity"], hasLength: true),
        Framed(["Transfer-Encoding": "chunked"], hasLength: false),
        Framed(["Content-Length": "9", "Transfer-Encoding": "chunked"], hasLength: false),
        Framed(["Transfer-Encoding": "identity"], hasLength: false),
        Framed([:], hasLength: false), Framed([:], version: "1.0", hasLength: false),
        Framed([:], version: "2", hasLength: false),
    ]

    private static func conclusion(
        _ head: ResponseHead, _ partial: PartialBytes?, _ policy: ResponsePolicy, count: Int64, isComplete: Bool
    ) -> DownloadConclusion {
        let lost = TransferFailure(.connectionLost, "lost")
        let plan = ExchangePlan(partial: partial)
        let verdict = Verdict.judge(head: head, plan: plan, partial: partial, policy: policy, now: someTime + 900_000)
        return DownloadEnd(
            verdict: verdict, count: count, condition: plan.condition, outcome: isComplete ? .complete : .failed(lost)
        ).conclusion
    }

    @Test func `T8: A whole file is complete at its length, or at the end of a body without a length`() {
        for policy in [strict, lenient] {
            for framed in Self.framings {
                for count in 0...6 as ClosedRange<Int64> {
                    for isComplete in [true, false] {
                        let found = Self.conclusion(
                            framed.head(200), nil, policy, count: count, isComplete: isComplete)
                        let isWhole = framed.hasLength ? count == 5 : isComplete
                        #expect((found == .whole) == isWhole, "\(framed), \(count) bytes, \(isComplete)")
                        if framed.hasLength, count > 5 {
                            guard case .worthless = found else {
                                Issue.record("\(framed), \(count) bytes: \(found)")
                                continue
                            }
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [200, 203, 206, 218])
    func `T8: A part completes the file only if it contains the last byte`(status: Int) {
        let range: KeyValuePairs = ["Content-Range": "bytes 95-99/100", "ETag": "\"a\""]
        for policy in [strict, lenient] {
            for framed in Self.framings {
                for count in 95...100 as ClosedRange<Int64> {
                    for isComplete in [true, false] {
                        let found = Self.conclusion(
                            framed.head(status, range), partial(95), policy, count: count, isComplete: isComplete)
                        #expect((found == .whole) == (count == 100), "\(framed), \(count) bytes: \(found)")
                    }
                }
            }
        }
    }

    @Test func `T8: A response with two different lengths is never accepted as a file`() {
        let framed = Framed(["Content-Length": "5", "Content-Length": "6"], hasLength: true)
        for status in 200...299 where status != 204 {
            for bytes in [nil, partial(10)] {
                for count in [5, 6] as [Int64] {
                    let found = Self.conclusion(framed.head(status), bytes, strict, count: count, isComplete: true)
                    guard case .trouble(let failure, _) = found, failure.code == .protocolError else {
                        Issue.record("\(status), \(count) bytes: \(found)")
                        continue
                    }
                }
            }
        }
    }

    // MARK: Saved bodies

    @Test func `T8: A success without a file is never saved as the file`() {
        for status in [201, 204, 205, 207, 208, 226] {
            guard case .fail(let failure) = judge(head(status), nil, strict) else {
                Issue.record("\(judge(head(status), nil, strict))")
                continue
            }
            #expect(failure.code == .httpStatus && failure.status == status)
            #expect(failure.message.contains("no"), "\(failure.message)")
        }
    }

    @Test func `T8: A download requests a file again when the Retry-After of a 202 has passed`() {
        let answer = head(202, ["Retry-After": "7", "Content-Length": "9"])
        for bytes in [nil, partial(10)] {
            guard case .retryLater(let failure, after: .seconds(7)) = judge(answer, bytes, strict) else {
                Issue.record("\(judge(answer, bytes, strict))")
                continue
            }
            #expect(failure.code == .serverUnavailable && failure.message.contains("not ready"))
        }
        guard case .retryLater(_, after: nil) = judge(head(202), nil, strict) else {
            Issue.record("\(judge(head(202), nil, strict))")
            return
        }
    }

    @Test(arguments: [201, 202, 204, 205, 207, 404, 600, 751, 999])
    func `T1: Apps, and requests with a method of their own, get the response unchanged`(status: Int) {
        let answer = head(status, ["Content-Length": "0", "ETag": "\"a\""])
        let result = Representation(validators: Validators(), total: 0, acceptsRanges: false)
        #expect(judge(answer, nil, lenient) == .fresh(result, restart: nil))
        var own = strict
        own.hasOwnMethod = true
        if status < 300 { #expect(judge(answer, nil, own) == .fresh(result, restart: nil)) }
    }

    @Test(arguments: [600, 751, 999])
    func `T8: A status that HTTP does not define ends a download at once`(status: Int) {
        guard case .fail(let failure) = judge(head(status), nil, strict) else {
            Issue.record("\(judge(head(status), nil, strict))")
            return
        }
        #expect(failure.isPermanent && failure.message.contains("not a valid HTTP status"))
    }

    // MARK: Parts with status 200

    @Test(arguments: [200, 203, 218])
    func `T8: A download never treats the tail of a file with status 200 as the whole file`(status: Int) {
        let tail = head(status, ["Content-Range": "bytes 10-99/100", "Content-Length": "90", "ETag": "\"a\""])
        guard case .append(_, offset: 10, length: 90) = judge(tail, partial(10)) else {
            Issue.record("\(judge(tail, partial(10)))")
            return
        }
        // Without a matching version, the part cannot continue the file.
        for fields in [
            ["Content-Range": "bytes 10-99/100", "Last-Modified": newDate],
            ["Content-Range": "bytes 10-99/100", "ETag": "\"b\""],
            ["Content-Range": "bytes 10-99/101", "ETag": "\"a\""],
            ["Content-Range": "bytes 20-99/100", "ETag": "\"a\""],
            ["Content-Range": "bytes nonsense", "ETag": "\"a\""],
            ["Content-Range": "bytes */100", "ETag": "\"a\""], ["Content-Range": "bytes", "ETag": "\"a\""],
            ["Content-Type": "multipart/byteranges; boundary=x", "ETag": "\"a\""],
        ] as [KeyValuePairs<String, String>] {
            #expect(judge(head(status, fields), partial(10)).startsAgain, "\(fields)")
        }
        // A response without validators may come from another server than that of the file.
        let bare = head(status, ["Content-Range": "bytes 10-99/100", "Content-Length": "90"])
        guard case .doubt = judge(bare, partial(10)) else {
            Issue.record("\(judge(bare, partial(10)))")
            return
        }
    }

    @Test(arguments: [
        "bytes 10-99/100", "bytes 0-98/100", "bytes 0-99/*", "bytes nonsense", "bytes */100", "bytes=1-2/3",
    ])
    func `T8: A request for the whole file refuses a part with status 200`(range: String) {
        for policy in [strict, lenient] {
            let answer = head(200, ["Content-Range": range, "ETag": "\"a\""])
            guard case .retryLater(let failure, after: nil) = judge(answer, nil, policy) else {
                Issue.record("\(judge(answer, nil, policy))")
                continue
            }
            #expect(failure.code == .protocolError)
        }
    }

    @Test func `T8: A whole response stays whole if its Content-Range names all bytes or other units`() {
        let all = head(200, ["Content-Range": "bytes 0-99/100", "Transfer-Encoding": "chunked", "ETag": "\"a\""])
        #expect(judge(all, nil).representation?.total == 100)
        for range in ["items 0-24/319", "0-14/*", "bytesized 1-2/3"] {
            let answer = head(200, ["Content-Range": range, "Content-Length": "100", "ETag": "\"a\""])
            #expect(judge(answer, nil).representation?.total == 100)
            #expect(judge(answer, nil).lossReason == nil)
        }
    }

    @Test func `T8: A segment connection accepts a part with status 200 like a part with status 206`() {
        let part = head(
            200, ["Content-Range": "bytes 40-59/100", "ETag": "\"a\"", "Last-Modified": oldDate, "Date": serverDate])
        #expect(SegmentAnswerTests.answer(part) == .serves(40..<60, SegmentAnswerTests.file))
        let other = head(200, ["Content-Range": "bytes 40-59/100", "ETag": "\"b\""])
        guard case .distrusted = SegmentAnswerTests.answer(other) else {
            Issue.record("\(SegmentAnswerTests.answer(other))")
            return
        }
    }

    @Test func `T8: A comparison with another URL's part of status 200 begins at the part's offset`() {
        var bytes = partial(70_000, of: 100_000)
        bytes.isOfAnotherURL = true
        bytes.isVerified = true
        bytes.isKept = true
        bytes.condition = .unconditional
        let tail = head(200, ["Content-Range": "bytes 4464-99999/100000", "ETag": "\"z\""])
        guard case .compare(_, offset: 4_464, length: 95_536) = judge(tail, bytes) else {
            Issue.record("\(judge(tail, bytes))")
            return
        }
    }
}
