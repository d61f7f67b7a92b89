import NightshiftAPI
import Testing
import Transfers

/// Tests of the integrity matrix (T8, B2): the verdict on each response to a request for the rest.
@Suite struct VerdictTests {
    private let known = Validators(entityTag: "\"a\"", lastModified: oldDate, date: serverDate)

    @Test func `A response with two different lengths is a protocol error`() {
        let answer = head(200, ["Content-Length": "100", "Content-Length": "90", "ETag": "\"a\""])
        guard case .retryLater(let failure, nil) = judge(answer, nil) else {
            Issue.record("\(judge(answer, nil))")
            return
        }
        #expect(failure.code == .protocolError && failure.message.contains("100 and 90"))
        // Sending the same length twice is a known and harmless error of servers.
        let twice = head(200, ["Content-Length": "100", "Content-Length": "100", "ETag": "\"a\""])
        #expect(judge(twice, nil).representation?.total == 100)
    }

    // MARK: Responses with a part

    @Test func `A part that starts exactly at the requested byte is appended`() {
        let answer = head(206, ["Content-Range": "bytes 10-99/100", "Content-Length": "90", "ETag": "\"a\""])
        let representation = Representation(validators: known, total: 100, acceptsRanges: true)
        #expect(judge(answer, partial(10)) == .append(representation, offset: 10, length: 90))
    }

    @Test func `A part that starts early is written at its own offset`() {
        let answer = head(206, ["Content-Range": "bytes 4-99/100", "ETag": "\"a\""])
        guard case .append(_, offset: 4, length: 96) = judge(answer, partial(10)) else {
            Issue.record("\(judge(answer, partial(10)))")
            return
        }
    }

    @Test func `A part may end before the end of the file`() {
        let answer = head(206, ["Content-Range": "bytes 10-19/100", "ETag": "\"a\""])
        guard case .append(_, offset: 10, length: 10) = judge(answer, partial(10)) else {
            Issue.record("\(judge(answer, partial(10)))")
            return
        }
    }

    @Test func `The range of a part provides the total length`() {
        let answer = head(206, ["Content-Range": "bytes 10-99/100", "ETag": "\"a\""])
        #expect(judge(answer, partial(10, of: nil)).representation?.total == 100)
        let silent = head(206, ["Content-Range": "bytes 10-99/*", "ETag": "\"a\"", "Transfer-Encoding": "chunked"])
        #expect(judge(silent, partial(10)).representation?.total == 100)
        #expect(judge(silent, partial(10, of: nil)).representation?.total == nil)
    }

    @Test(
        arguments: [
            ("later than asked", ["Content-Range": "bytes 11-99/100", "ETag": "\"a\""]),
            ("no Content-Range", ["ETag": "\"a\""]),
            ("unreadable Content-Range", ["Content-Range": "bytes 10/100", "ETag": "\"a\""]),
            ("unsatisfied in a 206", ["Content-Range": "bytes */100", "ETag": "\"a\""]),
            ("several parts", ["Content-Type": "multipart/byteranges; boundary=x", "ETag": "\"a\""]),
            ("none of the missing bytes", ["Content-Range": "bytes 0-9/100", "ETag": "\"a\""]),
            ("wrong length", ["Content-Range": "bytes 10-99/100", "Content-Length": "91", "ETag": "\"a\""]),
            ("after the known end", ["Content-Range": "bytes 10-100/*", "ETag": "\"a\""]),
            ("no validator at all", ["Content-Range": "bytes 10-99/100"]),
            (
                "encoded, without a strong tag",
                [
                    "Content-Range": "bytes 10-99/100", "Content-Encoding": "gzip",
                    "Last-Modified": oldDate,
                ]
            ),
        ] as [(String, KeyValuePairs<String, String>)])
    func `An inconsistent part is never written`(row: String, fields: KeyValuePairs<String, String>) {
        #expect(judge(head(206, fields), partial(10)).startsAgain)
    }

    @Test(
        arguments: [
            ("swapped, same size (B)", ["Content-Range": "bytes 10-99/100", "ETag": "\"b\""]),
            ("swapped, larger (S)", ["Content-Range": "bytes 10-199/200", "ETag": "\"b\""]),
            ("total changed, same tag", ["Content-Range": "bytes 10-199/200", "ETag": "\"a\""]),
            ("tag became weak", ["Content-Range": "bytes 10-99/100", "ETag": "W/\"a\""]),
            ("date changed, no tag", ["Content-Range": "bytes 10-99/100", "Last-Modified": newDate]),
        ] as [(String, KeyValuePairs<String, String>)])
    func `A part of another version is never written`(row: String, fields: KeyValuePairs<String, String>) throws {
        for condition in [RangeCondition.entityTag, .lastModified, .unconditional] {
            let verdict = judge(head(206, fields), partial(10, condition: condition))
            #expect(verdict.startsAgain)
            #expect(try #require(verdict.lossReason).hasPrefix("the remote file changed"))
        }
    }

    @Test func `A weak tag alone does not allow resumption`() {
        let bytes = partial(10, tag: "W/\"a\"", modified: nil)
        #expect(!ExchangePlan(partial: bytes).asksForRange)
        let withDate = head(
            206, ["Content-Range": "bytes 10-99/100", "ETag": "W/\"a\"", "Last-Modified": oldDate])
        #expect(judge(withDate, partial(10, tag: "W/\"a\"")).representation != nil)
        let withoutDate = head(206, ["Content-Range": "bytes 10-99/100", "ETag": "W/\"a\""])
        #expect(judge(withoutDate, partial(10, tag: "W/\"a\"")).startsAgain)
    }

    @Test func `An encoded part is accepted only if its strong tag matches`() {
        let answer = head(206, ["Content-Range": "bytes 10-99/100", "Content-Encoding": "x-gzip", "ETag": "\"a\""])
        #expect(judge(answer, partial(10)).representation != nil)
        #expect(judge(answer, partial(10, tag: nil)).startsAgain)
    }

    // MARK: Unrequested parts

    @Test func `An unrequested part that covers the whole file is accepted`() {
        let answer = head(206, ["Content-Range": "bytes 0-99/100", "Content-Length": "100", "ETag": "\"a\""])
        #expect(judge(answer, nil).representation?.total == 100)
        #expect(judge(answer, nil).lossReason == nil)
        #expect(judge(answer, partial(10, condition: .unusable)).lossReason != nil)
    }

    @Test(arguments: ["bytes 0-98/100", "bytes 1-99/100", "bytes 0-99/*", "nonsense"])
    func `An unrequested part that does not cover the whole file is a protocol error`(range: String) {
        guard case .retryLater(let failure, after: nil) = judge(head(206, ["Content-Range": range]), nil) else {
            Issue.record("not retried")
            return
        }
        #expect(failure.code == .protocolError)
    }

    // MARK: Responses with the whole file

    @Test func `A download accepts a requested whole file with its validators`() {
        let answer = head(
            200, ["Content-Length": "100", "ETag": "\"a\"", "Last-Modified": oldDate, "Date": serverDate])
        let representation = Representation(validators: known, total: 100, acceptsRanges: true)
        #expect(judge(answer, nil) == .fresh(representation, restart: nil))
    }

    @Test func `A download knows the total only from a valid Content-Length`() {
        #expect(judge(head(200), nil).representation?.total == nil)
        #expect(judge(head(200, ["Content-Length": "0"]), nil).representation?.total == 0)
        #expect(judge(head(200, ["Content-Length": "ten"]), nil).representation?.total == nil)
        #expect(judge(head(200, ["Content-Length": "-1"]), nil).representation?.total == nil)
        let chunked = head(200, ["Content-Length": "5", "Transfer-Encoding": "chunked"])
        #expect(judge(chunked, nil).representation?.total == nil)
    }

    @Test func `A server is assumed to accept ranges unless it refuses them`() {
        #expect(judge(head(200), nil).representation?.acceptsRanges == true)
        #expect(judge(head(200, ["Accept-Ranges": "bytes"]), nil).representation?.acceptsRanges == true)
        #expect(judge(head(200, ["Accept-Ranges": "None"]), nil).representation?.acceptsRanges == false)
    }

    @Test func `An encoded whole file has only a strong tag as validator`() {
        let fields: KeyValuePairs = ["Content-Encoding": "gzip", "ETag": "W/\"a\"", "Last-Modified": oldDate]
        #expect(judge(head(200, fields), nil).representation?.validators == Validators())
        let strong = head(200, ["Content-Encoding": "gzip", "ETag": "\"a\"", "Last-Modified": oldDate])
        #expect(judge(strong, nil).representation?.validators == Validators(entityTag: "\"a\""))
    }

    @Test func `The time of arrival with a margin replaces a missing date`() {
        let answer = head(200, ["Last-Modified": oldDate])
        func strong(at now: Double) -> Bool {
            let verdict = Verdict.judge(
                head: answer, plan: ExchangePlan(partial: nil), partial: nil, policy: lenient, now: now)
            return verdict.representation?.validators.strongLastModified != nil
        }
        #expect(!strong(at: someTime))
        #expect(!strong(at: someTime + 60))
        #expect(strong(at: someTime + 61))
    }

    @Test func `A changed file restarts the download`() {
        for fields in [
            ["ETag": "\"b\"", "Content-Length": "100"], ["ETag": "\"a\"", "Content-Length": "200"],
            ["Last-Modified": newDate],
        ] as [KeyValuePairs<String, String>] {
            let verdict = judge(head(200, fields), partial(10))
            #expect(verdict.representation != nil)
            #expect(verdict.lossReason?.hasPrefix("the remote file changed") == true)
        }
    }

    @Test func `A download requests the range with weaker conditions when the server ignores it`() {
        let answer = head(200, ["ETag": "\"a\"", "Last-Modified": oldDate, "Content-Length": "100"])
        #expect(judge(answer, partial(10)).condition == .lastModified)
        #expect(judge(answer, partial(10, modified: nil)).condition == .unconditional)
        #expect(judge(answer, partial(10, condition: .lastModified)).condition == .unconditional)
        let last = judge(answer, partial(10, condition: .unconditional))
        #expect(last.lossReason == "the server does not send parts of this file")
        #expect(last.representation?.acceptsRanges == false)
    }

    @Test func `Refused ranges are not requested again`() {
        let answer = head(200, ["ETag": "\"a\"", "Accept-Ranges": "none"])
        #expect(judge(answer, partial(10)).representation?.acceptsRanges == false)
    }

    @Test func `A whole file without validators is accepted`() {
        let verdict = judge(head(200, ["Content-Length": "100"]), partial(10))
        #expect(verdict.representation?.total == 100)
        #expect(verdict.lossReason?.contains("shows whether it has changed") == true)
    }

    @Test func `The reason for a restart says why the download cannot resume`() {
        let answer = head(200, ["Content-Length": "100"])
        #expect(judge(answer, partial(10, condition: .unusable)).lossReason?.contains("does not send parts") == true)
        #expect(judge(answer, partial(10, tag: nil, modified: nil)).lossReason?.contains("recognised") == true)
        #expect(judge(answer, partial(101)).lossReason != nil)
    }

    // MARK: The request's own ranges and conditions

    @Test func `T1: The response to a range that the app requested itself is the result`() {
        var policy = lenient
        policy.asksConditionally = true
        let part = head(206, ["Content-Range": "bytes 5-9/100", "Content-Length": "5", "ETag": "\"a\""])
        let result = Representation(validators: Validators(), total: 5, acceptsRanges: false)
        #expect(judge(part, nil, policy) == .fresh(result, restart: nil))
        for status in [304, 412, 416] {
            #expect(judge(head(status, ["Content-Length": "0"]), nil, policy).representation?.total == 0)
        }
        // This response has no body. Its length describes bytes that were not sent.
        #expect(judge(head(304, ["Content-Length": "100"]), nil, policy).representation?.total == 0)
        let failing = ResponsePolicy(retry: .never, failsOnHTTPError: true)
        guard case .fail(let failure) = judge(head(304), nil, failing) else {
            Issue.record("a file of nothing")
            return
        }
        #expect(failure.message.contains("condition"))
    }

    @Test func `T1: A response to HEAD has no body, although it announces a length`() {
        var answer = head(200, ["Content-Length": "100", "ETag": "\"a\"", "Accept-Ranges": "bytes"])
        answer.method = "HEAD"
        let result = Representation(validators: Validators(), total: 0, acceptsRanges: false)
        #expect(judge(answer, nil) == .fresh(result, restart: nil))
    }

    // MARK: Other statuses

    @Test func `A 416 proves a complete file only if its length and validators match`() {
        let answer = head(416, ["Content-Range": "bytes */100"])
        #expect(judge(answer, partial(100)) == .alreadyComplete)
        #expect(judge(answer, partial(100, of: nil)).startsAgain)
        #expect(judge(answer, partial(10)).startsAgain)
        #expect(judge(head(416), partial(100)).startsAgain)
        #expect(judge(head(416, ["Content-Range": "bytes */99"]), partial(100)).startsAgain)
        #expect(judge(head(416, ["Content-Range": "bytes */100", "ETag": "\"b\""]), partial(100)).startsAgain)
        #expect(judge(head(416), nil, strict).startsAgain == false)
    }

    @Test(arguments: [201, 202, 204, 205, 207, 304])
    func `An unexpected status in response to a range request restarts the download`(status: Int) {
        #expect(judge(head(status, ["ETag": "\"a\""]), partial(10)).startsAgain)
    }

    @Test(arguments: [400, 412])
    func `A download weakens a rejected condition, and finally restarts`(status: Int) {
        #expect(judge(head(status), partial(10), strict).condition == .lastModified)
        #expect(judge(head(status), partial(10, condition: .lastModified), strict).condition == .unconditional)
        #expect(judge(head(status), partial(10, condition: .unconditional), strict).startsAgain)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 507, 599])
    func `A download is retried after a transient status`(status: Int) {
        let answer = head(status, ["Retry-After": "3"])
        guard case .retryLater(let failure, let after) = judge(answer, partial(10), strict) else {
            Issue.record("not retried")
            return
        }
        #expect(failure.code == .serverUnavailable)
        #expect(failure.status == status)
        #expect(after == .seconds(3))
        guard case .retryLater(_, after: nil) = judge(head(status), nil, strict) else {
            Issue.record("not retried")
            return
        }
    }

    @Test(arguments: [401, 403, 404, 407, 410, 416, 451, 501, 505, 300, 304])
    func `Any other error status fails the task`(status: Int) {
        guard case .fail(let failure) = judge(head(status), nil, strict) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.code == .httpStatus)
        #expect(failure.status == status)
        #expect(failure.message.contains("\(status) "))
    }

    @Test func `The message about a failure names the HTTP status`() {
        guard case .fail(let failure) = judge(head(404), partial(10), strict) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.message == "The server answered 404 Not Found: there is no file at this URL.")
        #expect(HTTPStatus.name(299) == "299")
    }

    @Test(arguments: [(false, "requires a user name and a password"), (true, "rejected the user name or the password")])
    func `The message about a refused login says whether the transfer has one`(_ hasLogin: Bool, _ words: String) {
        var policy = strict
        policy.hasLogin = hasLogin
        guard case .fail(let failure) = judge(head(401), nil, policy) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.message.hasPrefix("The server answered 401 Unauthorized: it \(words)"))
    }

    @Test(arguments: [404, 429, 503])
    func `An error status is the result unless the task is set to fail on HTTP errors`(status: Int) {
        let answer = head(status, ["ETag": "\"page\"", "Content-Length": "9"])
        let page = Representation(validators: Validators(), total: 9, acceptsRanges: false)
        #expect(judge(answer, nil, lenient) == .fresh(page, restart: nil))
        #expect(judge(answer, partial(10), lenient).lossReason?.contains("\(status)") == true)
        let failing = ResponsePolicy(retry: .never, failsOnHTTPError: true)
        guard case .fail = judge(answer, nil, failing) else {
            Issue.record("not failed")
            return
        }
    }

    @Test(arguments: [0, 100, 199])
    func `An impossible status is a protocol error`(status: Int) {
        guard case .retryLater(let failure, after: nil) = judge(head(status), nil) else {
            Issue.record("not retried")
            return
        }
        #expect(failure.code == .protocolError)
    }

    // MARK: The end of a body

    @Test(arguments: [
        (100 as Int64?, 100 as Int64?, 100 as Int64, true, "whole"), (100, 100, 100, false, "whole"),
        (100, nil, 100, true, "whole"), (100, 100, 99, false, "truncated"), (100, 100, 99, true, "truncated"),
        (100, 50, 50, true, "more"), (100, 50, 49, false, "truncated"), (100, 50, 51, true, "tooLong"),
        (100, 100, 101, true, "tooLong"), (nil, nil, 7, true, "whole"), (nil, nil, 0, true, "whole"),
        (nil, nil, 7, false, "truncated"), (nil, 50, 50, true, "more"), (nil, 50, 49, true, "truncated"),
        (nil, 50, 51, true, "tooLong"), (0, 0, 0, true, "whole"),
    ])
    func `The byte counts and the end of a body decide whether the body is whole`(
        total: Int64?, announcedEnd: Int64?, count: Int64, complete: Bool, expected: String
    ) {
        let verdict = Verdict.judgeEnd(total: total, announcedEnd: announcedEnd, count: count, complete: complete)
        switch verdict {
        case .whole: #expect(expected == "whole")
        case .more: #expect(expected == "more")
        case .truncated(let failure): #expect(expected == "truncated" && failure.code == .truncated)
        case .tooLong(let failure): #expect(expected == "tooLong" && failure.code == .protocolError)
        }
    }
}
