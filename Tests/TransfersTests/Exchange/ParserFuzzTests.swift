import NightshiftAPI
import Testing
import Transfers

/// Tests of every parser with arbitrary bytes: no parser traps, and each result is valid. The inputs are the same in
/// each run.
@Suite struct ParserFuzzTests {
    /// Calls `body` with random bytes, and with well-formed `samples` into which random bytes were inserted.
    private func forInputs(
        _ samples: [String], seed: UInt64, count: Int = 100_000, _ body: (String) -> Void
    ) {
        var random = ExchangeRandom(seed: seed)
        let marks = Array("\"\\/:;=,*-%?#@[] \t'.0129abAZ\u{0}\u{7F}".utf8)
        for _ in 0..<count {
            var bytes: [UInt8] = []
            if random.chance(0.8) {
                bytes = Array(samples[random.number(0..<samples.count)].utf8)
                for _ in 0..<random.number(1..<4) where !bytes.isEmpty {
                    let index = random.number(0..<bytes.count)
                    switch random.number(0..<3) {
                    case 0: bytes.remove(at: index)
                    case 1: bytes.insert(marks[random.number(0..<marks.count)], at: index)
                    default: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                    }
                }
            } else {
                for _ in 0..<random.number(0..<24) {
                    bytes.append(
                        random.chance(0.5)
                            ? marks[random.number(0..<marks.count)] : UInt8(truncatingIfNeeded: random.next()))
                }
            }
            body(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test func `Arbitrary bytes never trap the parser of HTTP dates`() {
        forInputs([oldDate, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"], seed: 1) { text in
            guard let seconds = HTTPDate.parse(text), seconds >= 0 else { return }
            always(HTTPDate.parse(HTTPDate.format(seconds)) == seconds, "\(text)")
        }
    }

    @Test func `Arbitrary bytes never trap the parser of Content-Range`() {
        forInputs(["bytes 10-99/100", "bytes */100", "bytes 0-1/*"], seed: 2) { text in
            guard case .bytes(let first, let last, let total)? = ContentRange(field: text) else { return }
            always(first >= 0 && first <= last && last < total ?? .max, "\(text)")
        }
    }

    @Test func `Arbitrary bytes never trap the parser of validators`() {
        forInputs(["\"abc\"", "W/\"abc\""], seed: 3) { text in
            let validators = Validators(entityTag: text, lastModified: text, date: text)
            always(!validators.contradicts(validators), "\(text)")
            if let tag = validators.strongEntityTag {
                always(tag.utf8.first == 0x22 && tag.utf8.last == 0x22 && !tag.utf8.contains(0x20), "\(text)")
            }
        }
    }

    @Test func `Arbitrary bytes never trap the parser of URLs`() {
        forInputs(
            ["http://u:p@example.org:80/a/../b?q#f", "https://[::1]:8/x", "http://bücher.example/ä", "example.org/x"],
            seed: 4, count: 50_000
        ) { text in
            guard let url = try? TransferURL(parsing: text) else { return }
            always(url.string.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(text)")
            always(url.string.hasPrefix("\(url.isSecure ? "https" : "http")://\(url.host)"), "\(text)")
            let again = try? TransferURL(parsing: url.string)
            always(again?.string == url.string && again?.origin == url.origin, "\(text)")
        }
    }

    @Test func `Arbitrary bytes never trap the parser of redirect locations`() {
        forInputs(["/a/../b?q#f", "//other/x", "x/y", "?q", "http://u@h/"], seed: 5, count: 20_000) { text in
            let redirect = RedirectPolicy.next(
                status: 302, location: text, from: "http://example.org/a/b", method: "GET", hop: 0)
            guard case .follow(let url, _, _) = redirect else { return }
            let origin = try? TransferURL(parsing: url).origin
            var request = WireRequest(url: "http://example.org/a/b", method: "GET", headers: [], idleTimeout: 60)
            request.credential = Credential(user: "ada", password: "secret")
            let keeps = request.moved(to: url).credential != nil
            always(origin != nil && (origin == "http://example.org:80") == keeps, "\(text)")
        }
    }

    @Test func `Arbitrary bytes never lead to an unsafe file name`() {
        forInputs(
            [
                "attachment; filename=\"a b.txt\"", "attachment; filename*=UTF-8''a%20b.txt; filename=x",
                "inline; filename=\"=?UTF-8?B?YQ==?=\"",
            ], seed: 6
        ) { text in
            let name = FileName.derive(contentDisposition: text, url: text)
            always(FileName.sanitize(name) == name, "\(text)")
        }
    }

    @Test func `Arbitrary bytes never trap the parser of digests`() {
        forInputs(["sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:, md5=:AA==:"], seed: 7) { text in
            for checksum in DigestFields.parse([text]) {
                always(checksum.hex.utf8.count == checksum.algorithm.hexLength, "\(text)")
            }
        }
    }

    @Test func `Arbitrary bytes never trap the parser of Retry-After`() {
        forInputs(["120", "1.5", oldDate], seed: 9) { text in
            guard let field = RetryAfter(field: text) else { return }
            always((0...3600).contains(RetrySchedule.retryAfter(field, now: someTime)), "\(text)")
        }
    }
}
