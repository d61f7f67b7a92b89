import NightshiftAPI
import Testing
import Transfers

@Suite struct ExchangePlanTests {
    private func fields(_ partial: PartialBytes?) -> [String] {
        ExchangePlan(partial: partial).headers.map { "\($0.name): \($0.value)" }
    }

    @Test(arguments: [
        nil,
        partial(0),
        partial(10, condition: .unusable),
        partial(10, tag: nil, modified: nil),
        partial(10, tag: "W/\"a\"", modified: nil),
        partial(10, tag: "garbage", modified: nil),
        partial(10, tag: nil, modified: "yesterday"),
        partial(101),
        partial(1, of: 1),
        partial(-1),
    ])
    func `A plan without bytes to continue requests the whole file`(partial: PartialBytes?) {
        let plan = ExchangePlan(partial: partial)
        #expect(plan.offset == 0)
        #expect(plan.headers.isEmpty)
        #expect(!plan.asksForRange)
    }

    @Test func `A plan uses the strongest condition that its validators allow`() {
        #expect(fields(partial(10)) == ["Range: bytes=10-", "If-Range: \"a\""])
        #expect(fields(partial(10, of: nil)) == ["Range: bytes=10-", "If-Range: \"a\""])
        #expect(fields(partial(10, tag: "W/\"a\"")) == ["Range: bytes=10-", "If-Range: \(oldDate)"])
        #expect(fields(partial(10, tag: nil)) == ["Range: bytes=10-", "If-Range: \(oldDate)"])
        #expect(fields(partial(10, condition: .lastModified)) == ["Range: bytes=10-", "If-Range: \(oldDate)"])
        #expect(fields(partial(10, condition: .unconditional)) == ["Range: bytes=10-"])
        #expect(fields(partial(10, modified: nil, condition: .lastModified)) == ["Range: bytes=10-"])
        #expect(ExchangePlan(partial: partial(10, tag: nil)).condition == .lastModified)
    }

    @Test(arguments: ["W/\"a\"", nil])
    func `B2: A modification date in the same second as the response does not allow resumption`(_ tag: String?) {
        var bytes = partial(10, tag: tag)
        bytes.validators.date = oldDate
        #expect(fields(bytes).isEmpty)
        #expect(judge(head(200, ["Content-Length": "100"]), bytes).lossReason?.contains("recognised") == true)
    }

    @Test func `A plan requests the last byte when all bytes are on disk`() {
        #expect(fields(partial(100)) == ["Range: bytes=99-", "If-Range: \"a\""])
        let answer = head(206, ["Content-Range": "bytes 99-99/100", "Content-Length": "1", "ETag": "\"a\""])
        guard case .append(_, offset: 99, length: 1) = judge(answer, partial(100)) else {
            Issue.record("\(judge(answer, partial(100)))")
            return
        }
        #expect(judge(head(416, ["Content-Range": "bytes */100"]), partial(100)) == .alreadyComplete)
    }
}
