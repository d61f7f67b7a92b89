import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the next step after the end of a download's exchange.
@Suite struct DownloadConclusionTests {
    private static let lost = TransferFailure(.connectionLost, "gone")
    private static let full = TransferFailure(.diskFull, "full")
    private static let whole = Representation(validators: Validators(), total: 100, acceptsRanges: true)
    private static let unknown = Representation(validators: Validators(), total: nil, acceptsRanges: true)
    private static let challenge = Challenge(method: .basic, host: "h", port: 80, scheme: "http")

    private static func end(
        _ verdict: Verdict?, _ outcome: ExchangeEnd.Outcome, count: Int64 = 0,
        finding: OverlapComparison.Finding? = nil
    ) -> DownloadConclusion {
        DownloadEnd(verdict: verdict, finding: finding, count: count, condition: .lastModified, outcome: outcome)
            .conclusion
    }

    @Test func `A body is judged by its byte counts, then by its end`() {
        let fresh = Verdict.fresh(Self.whole, restart: nil)
        #expect(Self.end(fresh, .complete, count: 100) == .whole)
        #expect(Self.end(fresh, .failed(Self.lost), count: 100) == .whole)
        #expect(Self.end(fresh, .failed(Self.full), count: 100) == .trouble(Self.full, after: nil))
        #expect(Self.end(fresh, .failed(Self.lost), count: 40) == .trouble(Self.lost, after: nil))
        #expect(Self.end(fresh, .cancelled, count: 40) == .interrupted)
        guard case .trouble(let failure, after: nil) = Self.end(fresh, .complete, count: 40) else {
            Issue.record("a body that is too short is no trouble")
            return
        }
        #expect(failure.code == .truncated)
        guard case .worthless = Self.end(fresh, .complete, count: 101) else {
            Issue.record("a body that is too long is believed")
            return
        }
        #expect(Self.end(.fresh(Self.unknown, restart: nil), .complete, count: 7) == .whole)
    }

    @Test func `A complete part is followed by the next part`() {
        let part = Verdict.append(Self.whole, offset: 10, length: 20)
        guard case .again(.lastModified?, _) = Self.end(part, .complete, count: 30) else {
            Issue.record("nobody asks for the rest")
            return
        }
        #expect(Self.end(part, .cancelled, count: 30) == .interrupted)
        // The last part completes the file, however the connection ended. No server sends more bytes than it announced.
        let last = Verdict.append(Self.whole, offset: 10, length: 90)
        #expect(Self.end(last, .cancelled, count: 100) == .whole)
        guard case .worthless = Self.end(part, .cancelled, count: 100) else {
            Issue.record("a part that is too long is believed")
            return
        }
    }

    @Test func `The head of a response decides the conclusion when there is no body`() {
        #expect(Self.end(.alreadyComplete, .cancelled) == .whole)
        #expect(Self.end(.askAgain(.unconditional, reason: "r"), .cancelled) == .again(.unconditional, reason: "r"))
        #expect(Self.end(.startAgain(reason: "r"), .complete) == .again(nil, reason: "r"))
        #expect(
            Self.end(.retryLater(Self.lost, after: .seconds(3)), .complete) == .trouble(Self.lost, after: .seconds(3)))
        #expect(Self.end(.fail(Self.full), .complete) == .trouble(Self.full, after: nil))
        let doubt = SuspectResponse(fingerprint: "f", times: 1)
        #expect(Self.end(.doubt(doubt, Self.lost), .cancelled) == .doubt(doubt, Self.lost))
        #expect(Self.end(nil, .cancelled) == .interrupted)
        #expect(Self.end(nil, .failed(Self.lost)) == .trouble(Self.lost, after: nil))
        #expect(Self.end(nil, .complete) != .interrupted)
    }

    @Test func `A challenge decides the conclusion unless the write to the file has failed`() {
        #expect(Self.end(.alreadyComplete, .challenged(Self.challenge)) == .question(Self.challenge))
        let end = DownloadEnd(
            verdict: nil, failure: Self.full, count: 0, condition: .entityTag, outcome: .challenged(Self.challenge))
        #expect(end.conclusion == .trouble(Self.full, after: nil))
    }

    @Test func `A finished comparison decides the conclusion before the rest of the body does`() {
        let compare = Verdict.compare(Self.whole, offset: 10, length: 90)
        #expect(Self.end(compare, .complete, count: 100, finding: .agrees) == .whole)
        guard case .again(nil, _) = Self.end(compare, .cancelled, finding: .differs),
            case .again(nil, _) = Self.end(compare, .cancelled, finding: .provesNothing)
        else {
            Issue.record("bytes of another file are kept")
            return
        }
        #expect(Self.end(compare, .cancelled, finding: .pending) == .interrupted)
        #expect(Self.end(compare, .failed(Self.lost), finding: .pending) == .trouble(Self.lost, after: nil))
        guard case .trouble(let failure, _) = Self.end(compare, .complete, finding: .pending) else {
            Issue.record("an unfinished comparison is no trouble")
            return
        }
        #expect(failure.code == .truncated)
    }
}
