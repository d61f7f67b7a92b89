import NightshiftAPI
import Store
import Testing
import Transfers

/// Tests of the verdicts on responses to requests for parts.
@Suite struct SegmentAnswerTests {
    static let file = SourceIdentity(
        total: 100, validators: Validators(entityTag: "\"a\"", lastModified: oldDate, date: serverDate),
        condition: .entityTag)
    static let request = SegmentRequest(range: 40..<60, identity: file)

    static func answer(
        _ head: ResponseHead, _ request: SegmentRequest = request, hasChecksum: Bool = false,
        policy: ResponsePolicy = strict
    ) -> SegmentAnswer {
        var file = file
        if hasChecksum { file.digests = [Checksum(algorithm: .sha256, hex: String(repeating: "0", count: 64))] }
        return request.judge(head: head, file: file, policy: policy, now: someTime + 900_000)
    }

    static func part(_ range: String, tag: String = "\"a\"", modified: String = oldDate) -> ResponseHead {
        head(206, ["Content-Range": "bytes \(range)", "ETag": tag, "Last-Modified": modified, "Date": serverDate])
    }

    @Test func `A segment request contains its range and the condition of the file`() {
        func fields(_ request: SegmentRequest) -> [String] { request.headers.map { "\($0.name): \($0.value)" } }
        #expect(fields(Self.request) == ["Range: bytes=40-59", "If-Range: \"a\""])
        var dated = Self.file
        dated.condition = .lastModified
        #expect(
            fields(SegmentRequest(range: 0..<1, identity: dated)) == ["Range: bytes=0-0", "If-Range: \(oldDate)"])
        #expect(fields(SegmentRequest(range: 40..<60, identity: nil)) == ["Range: bytes=40-59"])
    }

    @Test(arguments: [("40-59/100", 40..<60), ("40-49/100", 40..<50), ("32-63/100", 32..<64), ("40-99/*", 40..<100)])
    func `The scheduler accepts a part at the range that the response declares`(_ range: String, _ served: Range<Int64>)
    {
        #expect(Self.answer(Self.part(range)) == .serves(served, Self.file))
    }

    @Test(arguments: [
        part("41-59/100"), part("40-59/101"), part("40-100/101"), part("0-39/100"), part("40-59/100", tag: "\"b\""),
        head(206, ["Content-Range": "bytes 40-59/100"]), head(206, ["ETag": "\"a\""]),
        head(206, ["Content-Type": "multipart/byteranges; boundary=x", "ETag": "\"a\""]),
        head(200, ["ETag": "\"b\"", "Content-Length": "100"]), head(200, ["Content-Length": "100"]),
        head(200, ["ETag": "\"a\"", "Content-Length": "100", "Accept-Ranges": "none"]),
        head(416, ["Content-Range": "bytes */100"]), head(416), head(304),
    ])
    func `The scheduler stops using a source whose response contradicts the file`(_ head: ResponseHead) {
        guard case .distrusted = Self.answer(head) else {
            Issue.record("\(Self.answer(head))")
            return
        }
    }

    @Test(arguments: [302, 401, 403, 404, 410, 501])
    func `T8: A permanent refusal fails a task on a segment as it does on a single connection`(_ status: Int) {
        guard case .refused(.trouble(let failure, after: nil), let reason) = Self.answer(head(status)) else {
            Issue.record("\(Self.answer(head(status)))")
            return
        }
        #expect(failure.isPermanent && failure.status == status)
        #expect(reason == "the server answered a request for a part with \(HTTPStatus.name(status))")
        // A task that accepts an error page as the file fetches it over one connection.
        guard case .distrusted = Self.answer(head(status), policy: lenient) else {
            Issue.record("\(Self.answer(head(status), policy: lenient))")
            return
        }
    }

    @Test func `T8: A log-in page is suspect for a segment as it is for a single connection`() {
        let page = head(200, ["Content-Type": "text/html", "Content-Length": "18"])
        var known = Self.file
        known.mediaType = "application/zip"
        for times in 1..<SuspectResponses.enough {
            let answer = Self.answer(page, SegmentRequest(range: 40..<60, identity: known))
            guard case .refused(.doubt(let doubt, let failure), _) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(doubt.times == times)
            #expect(failure.message.contains("100 bytes of application/zip"))
            #expect(failure.message.hasSuffix("response \(times)."))
            known.doubt = doubt
        }
        let request = SegmentRequest(range: 40..<60, identity: known)
        guard case .distrusted = Self.answer(page, request) else {
            Issue.record("\(Self.answer(page, request))")
            return
        }
        var policy = strict
        policy.isBehindPortal = true
        guard case .refused(.doubt(let doubt, _), _) = Self.answer(page, request, policy: policy) else {
            Issue.record("\(Self.answer(page, request, policy: policy))")
            return
        }
        #expect(doubt.times < SuspectResponses.enough)
        // A part of the file ends the suspicion against the server.
        guard case .serves(_, let served) = Self.answer(Self.part("40-59/100"), request) else {
            Issue.record("\(Self.answer(Self.part("40-59/100"), request))")
            return
        }
        #expect(served.doubt == nil)
    }

    @Test func `T8: A page for a segment at a new URL is suspect, but another media type is not`() {
        var moved = Self.file
        moved.mediaType = "application/zip"
        moved.isOfAnotherURL = true
        let request = SegmentRequest(range: 40..<60, identity: moved)
        guard case .refused(.doubt, _) = Self.answer(head(200, ["Content-Type": "text/html"]), request),
            case .distrusted = Self.answer(head(200, ["Content-Type": "application/octet-stream"]), request)
        else {
            Issue.record("\(Self.answer(head(200, ["Content-Type": "text/html"]), request))")
            return
        }
    }

    @Test func `A challenge on any connection is passed to the task`() {
        let challenge = Challenge(method: .basic, host: "h", port: 80, scheme: "http")
        #expect(
            SegmentAnswer(unanswered: .challenged(challenge))
                == .refused(.question(challenge), because: "the server sent a challenge"))
        #expect(SegmentAnswer(unanswered: .cancelled) == nil)
    }

    /// A test that parts use the same sequence of request forms as downloads over one connection.
    @Test func `A connection requests its segment again with a weaker condition if the server ignores it`() {
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

    @Test func `A 429 or 503 marks the server as busy, and other 5xx as failed`() {
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

    /// A test that neither entity tags nor dates, nor both together, are comparable across resources. Only a digest of
    /// the whole file decides.
    @Test(arguments: [part("40-59/100"), part("40-59/100", tag: "\"m\""), dated(oldDate), dated(newDate)])
    func `B2: A mirror is used only if a digest can detect a different file`(_ answer: ResponseHead) {
        guard case .distrusted(let reason) = Self.answer(answer, Self.unknown), reason.contains("nothing proves") else {
            Issue.record("\(Self.answer(answer, Self.unknown))")
            return
        }
        guard case .serves(40..<60, let own) = Self.answer(answer, Self.unknown, hasChecksum: true) else {
            Issue.record("the digest decides")
            return
        }
        #expect(own.validators == Validators(head: answer) && own.place == "http://example.org:80/file?")
    }

    @Test func `B2: A mirror's digest is compared before any byte from that mirror is written`() {
        func announcing(_ base64: String) -> ResponseHead {
            var answer = Self.part("40-59/100")
            answer.headers.append(HeaderField(name: "Repr-Digest", value: "sha-256=:\(base64):"))
            return answer
        }
        let zeros = String(repeating: "A", count: 43) + "="
        guard case .serves = Self.answer(announcing(zeros), Self.unknown, hasChecksum: true) else {
            Issue.record("the same digest proves it")
            return
        }
        let other = "B" + String(repeating: "A", count: 42) + "="
        #expect(
            Self.answer(announcing(other), Self.unknown, hasChecksum: true)
                == .distrusted("the mirror's file has another digest"))
    }

    @Test func `B2: Parts from another redirect target are refused if only an entity tag agrees`() {
        var own = Self.file
        own.place = "http://first.example:80/file?"
        let request = SegmentRequest(range: 40..<60, identity: own)
        guard case .serves = Self.answer(Self.part("40-59/100"), request) else {
            Issue.record("the tag and the date agree")
            return
        }
        let tagged = head(206, ["Content-Range": "bytes 40-59/100", "ETag": "\"a\""])
        guard case .distrusted = Self.answer(tagged, request), case .serves = Self.answer(tagged) else {
            Issue.record("\(Self.answer(tagged, request))")
            return
        }
    }

    @Test func `B2: The entity tag of a new URL counts only if the URL names the same resource`() {
        var moved = Self.file
        moved.isOfAnotherURL = true
        let places = [
            ("http://example.org:80/file?", true), ("http://example.org:80/file?id=1", false),
            ("http://old.example:80/file?", false),
        ]
        for (place, isServed) in places {
            moved.place = place
            let answer = Self.answer(Self.part("40-59/100"), SegmentRequest(range: 40..<60, identity: moved))
            if case .serves(_, let own) = answer {
                #expect(isServed && !own.isOfAnotherURL)
            } else {
                #expect(!isServed, "\(answer)")
            }
        }
    }

    @Test(arguments: [
        part("40-59/99"), part("40-59/*"), head(206, ["Content-Range": "bytes 40-59/100"]),
        head(206, ["Content-Range": "bytes 40-59/100", "ETag": "W/\"m\""]),
        head(200, ["ETag": "\"a\"", "Content-Length": "100"]),
    ])
    func `A mirror whose response does not match the file is distrusted`(_ head: ResponseHead) {
        guard case .distrusted = Self.answer(head, Self.unknown, hasChecksum: true) else {
            Issue.record("\(Self.answer(head, Self.unknown, hasChecksum: true))")
            return
        }
    }

    /// A test in which a mirror's second response is compared with its first.
    @Test func `A mirror's later responses must match the mirror's first response`() {
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
