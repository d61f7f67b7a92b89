import NightshiftAPI
import Testing
import Transfers

/// Tests of requests to a new URL for bytes of an old one, and of the verdicts on the responses.
@Suite struct RetargetedBytesTests {
    private static let overlap = RetargetedBytes.overlap
    private static let total: Int64 = 1_000_000
    private static let count: Int64 = 400_000

    private static func bytes(
        _ count: Int64 = Self.count, of total: Int64? = Self.total, tag: String? = "\"a\"",
        condition: RangeCondition = .entityTag, isVerified: Bool = true
    ) -> PartialBytes {
        var bytes = partial(count, of: total, tag: tag, condition: condition)
        bytes.isOfAnotherURL = true
        bytes.isVerified = isVerified
        bytes.place = "http://example.org:80/file?"
        return bytes
    }

    /// Returns partial bytes of a file without a known digest.
    private static func unverified(
        from place: String? = nil, tag: String? = "\"a\"", kept: Bool = false, condition: RangeCondition = .entityTag
    ) -> PartialBytes {
        var bytes = bytes(tag: tag, condition: condition, isVerified: false)
        bytes.place = place
        bytes.isKept = kept
        return bytes
    }

    private func fields(_ bytes: PartialBytes) -> [String] {
        ExchangePlan(partial: bytes).headers.map { "\($0.name): \($0.value)" }
    }

    private func part(
        from first: Int64 = count - overlap, to last: Int64 = total - 1, of total: Int64 = total,
        tag: String? = "\"b\"", more: KeyValuePairs<String, String> = [:]
    ) -> ResponseHead {
        let length = "\(last - first + 1)"
        var answer = head(206, ["Content-Range": "bytes \(first)-\(last)/\(total)", "Content-Length": length])
        if let tag { answer.headers.append(HeaderField(name: "ETag", value: tag)) }
        answer.headers += more.map { HeaderField(name: $0.key, value: $0.value) }
        return answer
    }

    @Test func `B2: A changed URL is first requested with the entity tag, then with the last 64 KiB`() {
        #expect(fields(Self.bytes()) == ["Range: bytes=400000-", "If-Range: \"a\""])
        #expect(fields(Self.bytes(condition: .unconditional)) == ["Range: bytes=334464-"])
        #expect(ExchangePlan(partial: Self.bytes(condition: .unconditional)).condition == .unconditional)
    }

    @Test(arguments: ["W/\"a\"", nil, "garbage"]) func `B2: The date of another URL is not used as a condition`(
        _ tag: String?
    ) {
        #expect(fields(Self.bytes(tag: tag)) == ["Range: bytes=334464-"])
    }

    @Test(arguments: [
        bytes(overlap - 1, tag: nil), bytes(of: nil, tag: nil), bytes(total + 1, tag: nil), bytes(condition: .unusable),
        bytes(100, condition: .unconditional),
    ])
    func `B2: Bytes that cannot be compared are fetched again`(_ bytes: PartialBytes) {
        #expect(ExchangePlan(partial: bytes).offset == 0)
        #expect(fields(bytes).isEmpty)
        #expect(judge(head(200, ["Content-Length": "1000000"]), bytes).lossReason?.contains("new URL") == true)
    }

    @Test func `B2: A comparison is possible with exactly 64 KiB on disk, and with the complete file`() {
        #expect(fields(Self.bytes(Self.overlap, tag: nil)).isEmpty == false)
        #expect(ExchangePlan(partial: Self.bytes(Self.overlap, tag: nil)).offset == 0)
        #expect(fields(Self.bytes(Self.total, tag: nil)) == ["Range: bytes=\(Self.total - Self.overlap)-"])
        #expect(fields(Self.bytes(Self.total)) == ["Range: bytes=999999-", "If-Range: \"a\""])
    }

    @Test func `B2: A download resumes with a response that has the same strong tag`() {
        let answer = part(from: Self.count, tag: "\"a\"")
        guard case .append(let representation, offset: Self.count, length: 600_000) = judge(answer, Self.bytes()) else {
            Issue.record("\(judge(answer, Self.bytes()))")
            return
        }
        #expect(representation.total == Self.total)
        // The verdict is the same if the part contains the bytes to compare.
        guard case .append = judge(part(tag: "\"a\""), Self.bytes(condition: .unconditional)) else {
            Issue.record("not continued")
            return
        }
    }

    @Test func `B2: A response that does not prove the same file leads to a comparison`() {
        let answers = [
            part(from: Self.count), part(from: Self.count, tag: nil), part(from: Self.count, tag: "W/\"a\""),
            part(from: Self.count, tag: nil, more: ["Last-Modified": oldDate, "Date": serverDate]),
            head(200, ["Content-Length": "1000000", "ETag": "\"b\""]), head(200, ["ETag": "\"b\""]),
            head(200, ["Content-Length": "1000000", "ETag": "\"a\""]), head(412), head(400),
        ]
        for answer in answers {
            #expect(judge(answer, Self.bytes()).condition == .unconditional, "\(answer)")
            // There are too few bytes for a comparison, so the download starts from byte 0.
            let few = Self.bytes(1_000)
            let verdict = judge(answer, few)
            #expect(verdict.condition == nil && verdict.lossReason != nil || verdict.condition == .unconditional)
            if case .askAgain(let condition, _) = verdict {
                var next = few
                next.condition = condition
                #expect(!ExchangePlan(partial: next).asksForRange)
            }
        }
    }

    @Test func `B2: Only a part that was requested without a condition is compared`() {
        let bytes = Self.bytes(condition: .unconditional)
        guard case .compare(let representation, let offset, let length) = judge(part(), bytes) else {
            Issue.record("\(judge(part(), bytes))")
            return
        }
        #expect(offset == Self.count - Self.overlap && length == Self.total - offset)
        #expect(representation.validators.entityTag == "\"b\"" && representation.total == Self.total)
        // A cache sends an earlier range, and all of it is compared.
        guard case .compare(_, offset: 0, length: Self.total) = judge(part(from: 0), bytes) else {
            Issue.record("an earlier part is not compared")
            return
        }
    }

    @Test func `B2: A response that contradicts the known file restarts the download`() {
        let bytes = Self.bytes(condition: .unconditional)
        let other = Self.total + 1
        let answers = [
            part(to: other - 1, of: other), part(from: Self.count), part(to: Self.count - 1),
            part(more: ["Content-Encoding": "gzip"]), head(206), head(206, ["Content-Range": "bytes */1000000"]),
            head(416, ["Content-Range": "bytes */1000000"]), head(416), head(400), head(204), head(304),
            part(more: ["Content-Type": "multipart/byteranges; boundary=x"]),
        ]
        for answer in answers { #expect(judge(answer, bytes).startsAgain, "\(answer): \(judge(answer, bytes))") }
        #expect(judge(part(from: Self.count, to: other - 1, of: other), Self.bytes()).startsAgain)
        #expect(judge(head(200, ["Content-Length": "5"]), Self.bytes()).lossReason?.contains("5 bytes") == true)
        #expect(judge(head(200, ["Content-Length": "1000000"]), bytes).lossReason != nil)
        // A 416 with this length does not prove that all bytes are on disk.
        #expect(judge(head(416, ["Content-Range": "bytes */1000000"]), Self.bytes(Self.total)).startsAgain)
    }

    @Test func `T8: A new URL's failures and refusals have the same effect as those of the old URL`() {
        #expect(judge(head(503), Self.bytes(), strict) == judge(head(503), partial(10), strict))
        #expect(judge(head(403), Self.bytes(), strict) == judge(head(403), partial(10), strict))
    }

    @Test func `B2: With a digest, an equal tag of another resource leads to a comparison`() {
        var elsewhere = Self.bytes()
        elsewhere.place = "http://old.example:80/file?"
        #expect(judge(part(from: Self.count, tag: "\"a\""), elsewhere).condition == .unconditional)
        elsewhere.condition = .unconditional
        guard case .compare = judge(part(tag: "\"a\""), elsewhere) else {
            Issue.record("\(judge(part(tag: "\"a\""), elsewhere))")
            return
        }
    }

    // MARK: Without a digest

    @Test func `B2: Without a digest, a download with an equal tag resumes only from the same resource`() {
        let same = Self.unverified(from: "http://example.org:80/file?")
        #expect(fields(same) == ["Range: bytes=400000-", "If-Range: \"a\""])
        guard case .append = judge(part(from: Self.count, tag: "\"a\""), same) else {
            Issue.record("a signed link was renewed")
            return
        }
        // A row that an older version of the service wrote does not contain the query.
        for place in [
            "http://old.example:80/file?", "http://example.org:80/other?", "http://example.org:80/file?id=1",
            "http://example.org:80/file", nil,
        ] {
            let verdict = judge(part(from: Self.count, tag: "\"a\""), Self.unverified(from: place))
            #expect(verdict.lossReason?.contains("nothing proves") == true && verdict.startsAgain, "\(verdict)")
        }
    }

    @Test(
        arguments: [
            ("id=1", "id=2", false), ("id=1", "id=1", true), ("id=1&sig=a", "id=2&sig=b", false),
            ("id=1&sig=a&se=5", "id=1&sig=b&se=6", true), ("", "versionId=4", false), ("token=1", "", true),
        ])
    func `B2: The query identifies the resource, but the signature in the query does not`(
        _ old: String, _ new: String, _ isSame: Bool
    ) {
        let place = try? TransferURL(parsing: "http://example.org/file?\(old)").place
        var answer = part(from: Self.count, tag: "\"a\"")
        answer.url = "http://example.org/file?\(new)"
        let verdict = judge(answer, Self.unverified(from: place))
        if case .append = verdict { #expect(isSame) } else { #expect(!isSame, "\(verdict)") }
        // The tag alone is not enough if redirects lead to another query.
        var own = partial(Self.count, of: Self.total, modified: nil)
        own.place = place
        if case .append = judge(answer, own) { #expect(isSame) } else { #expect(!isSame) }
    }

    @Test func `B2: A download resumes from a URL with a query if the stored URL has no query`() {
        var own = partial(Self.count, of: Self.total, modified: nil)
        own.place = "http://example.org:80/file"
        var answer = part(from: Self.count, tag: "\"a\"")
        answer.url = "http://example.org/file?id=1"
        guard case .append = judge(answer, own) else {
            Issue.record("\(judge(answer, own))")
            return
        }
    }

    @Test func `B2: Without a digest or a tag, a download requests only the whole file`() {
        #expect(fields(Self.unverified(tag: nil)).isEmpty)
        for answer in [part(from: Self.count), head(412), head(200, ["Content-Length": "1000000"])] {
            #expect(judge(answer, Self.unverified()).lossReason?.contains("nothing proves") == true, "\(answer)")
        }
    }

    @Test func `B2: The service compares a mirror's whole response with all bytes on disk`() {
        var keeping = lenient
        keeping.mayRestart = false
        for tag in ["\"a\"", nil] {
            let bytes = Self.unverified(tag: tag, kept: true)
            #expect(fields(bytes).isEmpty)
            for (answer, length) in [
                (head(200, ["Content-Length": "1000000", "ETag": "\"m\""]), Self.total as Int64?), (head(200), nil),
                (part(from: 0), Self.total),
            ] {
                guard case .compare(_, offset: 0, let found) = judge(answer, bytes, keeping), found == length else {
                    Issue.record("\(answer): \(judge(answer, bytes, keeping))")
                    continue
                }
            }
            let others = [
                head(200, ["Content-Length": "5"]), head(200, ["Content-Encoding": "gzip"]),
                part(from: 0, to: Self.total, of: Self.total + 1),
            ]
            for answer in others { #expect(judge(answer, bytes, keeping).startsAgain, "\(answer)") }
            guard case .fail = judge(head(404), bytes, ResponsePolicy(retry: .never, failsOnHTTPError: true)) else {
                Issue.record("a refusal is one")
                return
            }
        }
    }

    @Test func `B2: Another digest means another file`() {
        var bytes = Self.bytes()
        bytes.digests = [Checksum(algorithm: .sha256, hex: String(repeating: "0", count: 64))]
        let other = ["Repr-Digest": "sha-256=:B" + String(repeating: "A", count: 42) + "=:"] as KeyValuePairs
        #expect(judge(part(from: Self.count, tag: "\"a\"", more: other), bytes).startsAgain)
        bytes.isOfAnotherURL = false
        #expect(judge(part(from: Self.count, tag: "\"a\"", more: other), bytes).startsAgain)
        let same = ["Repr-Digest": "sha-256=:" + String(repeating: "A", count: 43) + "=:"] as KeyValuePairs
        guard case .append = judge(part(from: Self.count, tag: "\"a\"", more: same), bytes) else {
            Issue.record("the same digest")
            return
        }
    }
}
