import NightshiftAPI
import Testing
import Transfers

/// Tests of downloads from servers that misbehave at random, checked byte by byte. No file is mixed, and no exchange is
/// endless (B2).
@Suite struct ResumptionTests {
    /// A server with correct validators, whose other fields may all be wrong.
    private struct Server {
        var version = 0
        var length: Int64 = 60
        /// Whether the versions of the file differ in length.
        var sizesDiffer: Bool
        var tag: Tag
        var sendsDate: Bool
        /// Whether all versions have the same `Last-Modified`, which is the second of the response.
        var sameSecond: Bool

        enum Tag: CaseIterable { case none, strong, weak, weakAndConstant, malformed }

        init(random: inout ExchangeRandom) {
            sizesDiffer = random.chance(0.3)
            tag = Tag.allCases[random.number(0..<Tag.allCases.count)]
            sendsDate = random.chance(0.7)
            sameSecond = random.chance(0.2)
        }

        mutating func swap() {
            version += 1
            if sizesDiffer { length += 7 }
        }

        private var validators: [HeaderField] {
            var fields: [HeaderField] = []
            switch tag {
            case .none: break
            case .strong: fields.append(HeaderField(name: "ETag", value: "\"v\(version)\""))
            case .weak: fields.append(HeaderField(name: "ETag", value: "W/\"v\(version)\""))
            case .weakAndConstant: fields.append(HeaderField(name: "ETag", value: "W/\"v\""))
            case .malformed: fields.append(HeaderField(name: "ETag", value: "v\(version)"))
            }
            guard sendsDate else { return fields }
            let modified = someTime + (sameSecond ? 0 : Double(version) * 100)
            let sent = sameSecond ? modified : modified + 50
            fields.append(HeaderField(name: "Last-Modified", value: HTTPDate.format(modified)))
            fields.append(HeaderField(name: "Date", value: HTTPDate.format(sent)))
            return fields
        }

        /// Returns a response, and the range of the file that its body contains.
        func answer(_ plan: ExchangePlan, _ random: inout ExchangeRandom) -> (ResponseHead, Range<Int64>) {
            var fields = validators.filter { $0.name == "Date" || !random.chance(0.1) }
            if random.chance(0.1) { fields.append(HeaderField(name: "Accept-Ranges", value: "none")) }
            switch random.number(0..<12) {
            case 0 where plan.asksForRange:
                let total = random.chance(0.5) ? length : Int64(random.number(0..<100))
                fields.append(HeaderField(name: "Content-Range", value: "bytes */\(total)"))
                return (response(416, fields), 0..<0)
            case 1:
                return (response([204, 304, 400, 404, 412, 500, 503][random.number(0..<7)], fields), 0..<0)
            case 2, 3:
                return (whole(fields, &random), 0..<length)
            default:
                guard plan.asksForRange, plan.offset < length else { return (whole(fields, &random), 0..<length) }
                return part(plan, fields, &random)
            }
        }

        private func whole(_ fields: [HeaderField], _ random: inout ExchangeRandom) -> ResponseHead {
            let known = random.chance(0.8) ? [HeaderField(name: "Content-Length", value: "\(length)")] : []
            return response(200, fields + known)
        }

        private func part(
            _ plan: ExchangePlan, _ fields: [HeaderField], _ random: inout ExchangeRandom
        ) -> (ResponseHead, Range<Int64>) {
            var first = plan.offset
            var last = length - 1
            if random.chance(0.3) { first = Int64.random(in: 0...last, using: &random) }
            if random.chance(0.2) { last = Int64.random(in: first...last, using: &random) }
            let total = random.chance(0.2) ? "*" : "\(length)"
            let field = HeaderField(name: "Content-Range", value: "bytes \(first)-\(last)/\(total)")
            let described = random.chance(0.05) ? fields : fields + [field]
            return (response(206, described), first..<last + 1)
        }

        private func response(_ status: Int, _ fields: [HeaderField]) -> ResponseHead {
            ResponseHead(
                status: status, headers: fields, httpVersion: "1.1", url: "http://example.org/", method: "GET")
        }
    }

    @Test func `A resumed download never mixes versions and never loops`() {
        let seed = ExchangeRandom.printedSeed("neverMixesVersionsAndNeverLoops")
        var random = ExchangeRandom(seed: seed)
        var finished = 0
        var continued = 0
        for _ in 0..<8_000 {
            var server = Server(random: &random)
            /// The version of the file to which each byte belongs.
            var file: [Int] = []
            var partial: PartialBytes?
            var immediate = 0
            exchanges: for _ in 0..<40 {
                if random.chance(0.2) { server.swap() }
                let plan = ExchangePlan(partial: partial)
                let (head, body) = server.answer(plan, &random)
                let verdict = judge(head, partial, strict)
                let written: (Representation, offset: Int64, length: Int64?)
                switch verdict {
                case .alreadyComplete:
                    always(Set(file).count <= 1, "seed \(seed)")
                    finished += 1
                    break exchanges
                case .askAgain(let condition, _):
                    immediate += 1
                    partial?.condition = condition
                    always(immediate <= 5, "seed \(seed)")
                    continue
                case .startAgain:
                    immediate += 1
                    partial = nil
                    file = []
                    always(immediate <= 5, "seed \(seed)")
                    continue
                case .retryLater, .fail:
                    immediate = 0
                    continue
                case .doubt(let doubt, _):
                    immediate = 0
                    partial?.doubt = doubt
                    continue
                case .compare:
                    always(false, "seed \(seed): bytes of the same URL are compared")
                    break exchanges
                case .fresh(let representation, _):
                    file = []
                    written = (representation, 0, nil)
                case .append(let representation, let offset, let length):
                    always(offset <= Int64(file.count), "seed \(seed)")
                    continued += 1
                    written = (representation, offset, length)
                }
                immediate = 0
                always(written.offset == body.lowerBound, "seed \(seed)")
                let whole = random.chance(0.3)
                let received = whole ? body.count : random.number(0..<body.count + 1)
                let start = Int(written.offset)
                for index in start..<start + received {
                    if index < file.count { file[index] = server.version } else { file.append(server.version) }
                }
                let end = Verdict.judgeEnd(
                    total: written.0.total, announcedEnd: written.length.map { written.offset + $0 },
                    count: Int64(start + received), complete: whole)
                if end == .whole {
                    always(Set(file).count <= 1, "seed \(seed)")
                    finished += 1
                    break exchanges
                }
                partial = PartialBytes(
                    count: Int64(start + received), total: written.0.total, validators: written.0.validators,
                    condition: written.0.acceptsRanges ? .entityTag : .unusable)
                file.removeLast(file.count - start - received)
            }
        }
        // The test is meaningful only if enough files are finished and enough responses continue a download.
        always(finished > 2_000 && continued > 2_000, "seed \(seed): \(finished) finished, \(continued) continued")
    }

    @Test func `Any sequence of response heads causes at most a few repeated requests`() {
        let seed = ExchangeRandom.printedSeed("anySequenceOfHeadsAsksAgainAFewTimesOnly")
        var random = ExchangeRandom(seed: seed)
        let names = [
            "ETag", "Last-Modified", "Date", "Content-Range", "Content-Length", "Content-Encoding", "Content-Type",
            "Accept-Ranges", "Transfer-Encoding", "Retry-After",
        ]
        let values = [
            "\"a\"", "W/\"a\"", "\"b\"", oldDate, newDate, serverDate, "bytes 10-99/100", "bytes 0-99/100",
            "bytes */100", "bytes 99-99/100", "90", "100", "gzip", "multipart/byteranges", "none", "chunked", "",
        ]
        let statuses = [200, 203, 204, 206, 302, 304, 400, 404, 412, 416, 429, 500, 0]
        var (longest, rounds) = (0, 0)
        // The longest way down is so rare that some seeds need more rounds to take it.
        while rounds < 30_000 || longest < 3 && rounds < 1_000_000 {
            rounds += 1
            var bytes: PartialBytes? = partial(
                [0, 10, 99, 100][random.number(0..<4)], of: random.chance(0.5) ? 100 : nil,
                tag: [nil, "\"a\"", "W/\"a\""][random.number(0..<3)],
                modified: random.chance(0.5) ? oldDate : nil,
                condition: RangeCondition.allCases[random.number(0..<4)])
            bytes?.isOfAnotherURL = random.chance(0.2)
            var count = 0
            asking: while count <= 5 {
                let fields = (0..<random.number(0..<6)).map { _ in
                    HeaderField(
                        name: names[random.number(0..<names.count)], value: values[random.number(0..<values.count)])
                }
                var answer = head(statuses[random.number(0..<statuses.count)])
                answer.headers = fields
                switch judge(answer, bytes, random.chance(0.5) ? strict : lenient) {
                case .askAgain(let condition, _): bytes?.condition = condition
                case .startAgain: bytes = nil
                default: break asking
                }
                count += 1
            }
            always(count <= 3, "seed \(seed)")
            longest = max(longest, count)
        }
        always(longest == 3, "seed \(seed): the longest way down was never taken")
    }
}
