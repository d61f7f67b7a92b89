import NightshiftAPI
import Testing
import Transfers

/// Tests of the stored response at the end of an upload's exchange.
@Suite struct UploadAnswerTests {
    private static let head = ResponseHead(
        status: 201, headers: [], httpVersion: "1.1", url: "http://h/", method: "PUT")

    private static func answer(
        _ outcome: ExchangeEnd.Outcome, body: [UInt8] = [], file: Int64? = nil, head: ResponseHead? = head
    ) -> UploadAnswer? {
        UploadAnswer(ExchangeEnd(outcome: outcome, head: head, body: body), file: file)
    }

    @Test func `A complete response is kept in memory, or in a file`() {
        #expect(Self.answer(.complete, body: [1, 2]) == UploadAnswer(body: .memory([1, 2])))
        #expect(Self.answer(.complete, file: 5 << 20) == UploadAnswer(body: .file(count: 5 << 20)))
        #expect(Self.answer(.complete, file: Limits.responseBody)?.body == .file(count: Limits.responseBody))
    }

    @Test func `A response beyond the limit is an error, never a part`() {
        let answer = Self.answer(.complete, file: Limits.responseBody + 1)
        #expect(answer?.body == AnswerBody.none && answer?.failure?.code == .tooLarge)
        #expect(answer?.failure?.status == 201)
    }

    @Test(arguments: [TransferFailure.Code.diskFull, .inputOutput])
    func `A complete upload fails if this disk cannot store its response`(code: TransferFailure.Code) {
        let answer = Self.answer(.failed(TransferFailure(code, "no room")), file: 1 << 20)
        #expect(answer?.body == AnswerBody.none && answer?.failure?.code == code)
        #expect(answer?.failure?.message.hasSuffix("no room") == true)
    }

    @Test func `An upload ignores a response that ended early`() {
        let lost = TransferFailure(.connectionLost, "gone")
        #expect(Self.answer(.failed(lost), file: 1 << 20) == nil)
        #expect(Self.answer(.failed(lost)) == nil)
        #expect(Self.answer(.cancelled, file: 1 << 20) == nil)
        #expect(Self.answer(.complete, head: nil) == nil)
        // A failure before the response needed a file says nothing about the response.
        #expect(Self.answer(.failed(TransferFailure(.inputOutput, "no descriptors"))) == nil)
    }
}
