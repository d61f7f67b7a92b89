import NightshiftAPI
import Testing
import Transfers

/// What answers to requests for parts mean.
@Suite struct SegmentAnswerTests {
    static let file = SourceIdentity(
        total: 100, validators: Validators(entityTag: "\"a\"", lastModified: oldDate, date: serverDate),
        condition: .entityTag)
    static let request = SegmentRequest(range: 40..<60, identity: file)

    static func answer(
        _ head: ResponseHead, _ request: SegmentRequest = request, hasChecksum: Bool = false
    ) -> SegmentAnswer {
        request.judge(head: head, file: file, hasChecksum: hasChecksum, now: someTime + 900_000)
    }

    static func part(_ range: String, tag: String = "\"a\"", modified: String = oldDate) -> ResponseHead {
        head(206, ["Content-Range": "bytes \(range)", "ETag": tag, "Last-Modified": modified, "Date": serverDate])
    }

    @Test func whatIsAsked() {
        func fields(_ request: SegmentRequest) -> [String] { request.headers.map { "\($0.name): \($0.value)" } }
        #expect(fields(Self.request) == ["Range: bytes=40-59", "If-Range: \"a\""])
        var dated = Self.file
        dated.condition = .lastModified
        #expect(
            fields(SegmentRequest(range: 0..<1, identity: dated)) == ["Range: bytes=0-0", "If-Range: \(oldDate)"])
        #expect(fields(SegmentRequest(range: 40..<60, identity: nil)) == ["Range: bytes=40-59"])
    }

    @Test(arguments: [("40-59/100", 40..<60), ("40-49/100", 40..<50), ("32-63/100", 32..<64), ("40-99/*", 40..<100)])
    func partsAreTakenWhereTheySayTheyAre(_ range: String, _ served: Range<Int64>) {
        #expect(Self.answer(Self.part(range)) == .serves(served, Self.file))
    }

    @Test(arguments: [
        part("41-59/100"), part("40-59/101"), part("40-100/101"), part("0-39/100"), part("40-59/100", tag: "\"b\""),
        head(206, ["Content-Range": "bytes 40-59/100"]), head(206, ["ETag": "\"a\""]),
        head(206, ["Content-Type": "multipart/byteranges; boundary=x", "ETag": "\"a\""]),
        head(200, ["ETag": "\"b\"", "Content-Length": "100"]), head(200, ["Content-Length": "100"]),
        head(200, ["ETag": "\"a\"", "Content-Length": "100", "Accept-Ranges": "none"]),
        head(416, ["Content-Range": "bytes */100"]), head(416), head(304), head(204), head(302), head(403), head(404),
    ])
    func liesEndTheUseOfTheSource(_ head: ResponseHead) {
        guard case .distrusted = Self.answer(head) else {
            Issue.record("\(Self.answer(head))")
            return
        }
    }

    /// The ladder of plain downloads holds for parts as well.
    @Test func anIgnoredConditionIsStatedInAnotherWay() {
        let whole = head(200, ["ETag": "\"a\"", "Content-Length": "100", "Last-Modified": oldDate])
        #expect(Self.answer(whole) == .again(.lastModified))
        var request = Self.request
        request.identity?.condition = .lastModified
        #expect(Self.answer(whole, request) == .again(.unconditional))
        request.identity?.condition = .unconditional
        guard case .distrusted = Self.answer(whole, request) else {
            Issue.record("\(Self.answer(whole, request))")
            return
        }
    }

    @Test func refusalsAndTrouble() {
        for status in [429, 503] {
            guard case .busy(.seconds(7)?, _) = Self.answer(head(status, ["Retry-After": "7"])) else {
                Issue.record("\(status)")
                continue
            }
        }
        for status in [500, 502, 504, 408] {
            guard case .trouble = Self.answer(head(status)) else {
                Issue.record("\(status)")
                continue
            }
        }
    }

    static let unknown = SegmentRequest(range: 40..<60, identity: nil)

    static func dated(_ modified: String) -> ResponseHead {
        head(206, ["Content-Range": "bytes 40-59/100", "Last-Modified": modified, "Date": serverDate])
    }

    /// Tags decide where both have one, dates where one has none, and a checksum outweighs both.
    @Test func mirrorsHaveToAgree() {
        let own = SourceIdentity(
            total: 100, validators: Validators(entityTag: "\"a\"", lastModified: newDate, date: serverDate),
            condition: .unconditional)
        #expect(Self.answer(Self.part("40-59/100", modified: newDate), Self.unknown) == .serves(40..<60, own))
        guard case .serves = Self.answer(Self.dated(oldDate), Self.unknown) else {
            Issue.record("one without a tag may agree by its date")
            return
        }
        for other in [Self.part("40-59/100", tag: "\"m\""), Self.dated(newDate)] {
            #expect(Self.answer(other, Self.unknown) == .distrusted("nothing proves that the mirror has the same file"))
            guard case .serves = Self.answer(other, Self.unknown, hasChecksum: true) else {
                Issue.record("the checksum decides")
                return
            }
        }
    }

    @Test(arguments: [
        part("40-59/99"), part("40-59/*"), head(206, ["Content-Range": "bytes 40-59/100"]),
        head(206, ["Content-Range": "bytes 40-59/100", "ETag": "W/\"m\""]),
        head(200, ["ETag": "\"a\"", "Content-Length": "100"]),
    ])
    func mirrorsThatDoNotAgree(_ head: ResponseHead) {
        guard case .distrusted = Self.answer(head, Self.unknown, hasChecksum: true) else {
            Issue.record("\(Self.answer(head, Self.unknown, hasChecksum: true))")
            return
        }
    }

    /// A mirror's second answer is held to its own first one.
    @Test func mirrorsHaveToAgreeWithThemselves() {
        let first = Self.answer(Self.part("40-59/100", tag: "\"m\""), Self.unknown, hasChecksum: true)
        guard case .serves(_, let own) = first else {
            Issue.record("the first answer is taken")
            return
        }
        let next = SegmentRequest(range: 60..<80, identity: own)
        guard case .serves = Self.answer(Self.part("60-79/100", tag: "\"m\""), next),
            case .distrusted = Self.answer(Self.part("60-79/100", tag: "\"n\""), next)
        else {
            Issue.record("its own tag counts")
            return
        }
    }
}
