import NightshiftAPI
import Testing
import Transfers

@Suite struct FileNameTests {
    @Test func `The search for a free file name needs at most 44 checks`() {
        for count in [0, 1, 2, 3, 7, 8, 100, 6_000, 1_000_000] {
            var questions = 0
            let number = FileName.freeNumber {
                questions += 1
                return $0 <= count
            }
            #expect(number == count + 1)
            #expect(questions <= 44, "\(count) names, \(questions) questions")
        }
        // Some smaller numbers are free.
        let taken: Set<Int> = [1, 2, 3, 5, 8]
        #expect(!taken.contains(FileName.freeNumber { taken.contains($0) }))
    }

    @Test(arguments: [
        ("attachment; filename=\"a.txt\"", "a.txt"), ("attachment; filename=a.txt", "a.txt"),
        ("inline;FILENAME = a.txt ;x=y", "a.txt"), ("filename=a.txt", "a.txt"), ("filename=\"a b.txt", "a b.txt"),
        ("attachment; filename=my file.txt", "my file.txt"), ("attachment; filename=\"a\\\"b\\\\c.txt\"", "c.txt"),
        ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"), ("attachment; filename=\"C:\\dir\\a.txt\"", "a.txt"),
        ("attachment; filename=\"a;b.txt\"; x=y", "a;b.txt"), ("attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("attachment; filename=\"x.txt\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=utf-8'en'%E2%82%AC.txt; filename=x", "€.txt"),
        ("attachment; filename*=ISO-8859-1''%E4.txt", "ä.txt"),
        ("attachment; filename*=\"UTF-8''a%20b.txt\"", "a b.txt"),
        ("attachment; filename*=UTF-8''%FF.txt; filename=x.txt", "x.txt"),
        ("attachment; filename*=KOI8-R''%C1.txt; filename=x.txt", "x.txt"), ("attachment; filename*=oops", "path.bin"),
        ("attachment; filename=\"na%C3%AFve.txt\"", "naïve.txt"), ("attachment; filename=\"100%.txt\"", "100%.txt"),
        ("attachment; filename=\"naïve.txt\"", "naïve.txt"), ("attachment; filename=\"\"", "path.bin"),
        ("attachment; filename=\"=?UTF-8?B?bmHDr3ZlLnR4dA==?=\"", "naïve.txt"),
        ("attachment; filename=\"=?iso-8859-1?Q?na=EFve_1.txt?=\"", "naïve 1.txt"),
        ("attachment; filename=\"=?utf-8?B?***?=\"", "=?utf-8?B?***?="),
        ("attachment; filename=\"..\"", "path.bin"), ("attachment", "path.bin"), ("", "path.bin"),
        (";;;===", "path.bin"),
        ("attachment; filename=\".bashrc\"", "bashrc"), ("attachment; filename=\"a\u{202E}txt.exe\"", "atxt.exe"),
        ("attachment; filename*=UTF-8''..%2F..%2Fx%0A.sh", "x.sh"),
    ])
    func contentDisposition(field: String, name: String) {
        #expect(FileName.derive(contentDisposition: field, url: "http://example.org/dir/path.bin?q") == name)
    }

    @Test(arguments: [
        ("http://example.org/a/b.txt", "b.txt"), ("http://example.org/a%20b.txt?c=/d.txt#e", "a b.txt"),
        ("http://example.org/%E4.txt", "%E4.txt"), ("http://example.org/..%2F..%2Fetc%2Fpasswd", "passwd"),
        ("http://example.org/a/", "download"), ("http://example.org/", "download"), ("http://example.org", "download"),
        ("http://example.org?x", "download"), ("", "download"), ("http://example.org/%2e%2e", "download"),
        ("http://example.org/%00%1B", "download"), ("http://example.org/?a=http://b/c", "download"),
    ])
    func `The last path component of the URL names the file`(url: String, name: String) {
        #expect(FileName.derive(contentDisposition: nil, url: url) == name)
    }

    @Test(
        arguments: [
            ("a.txt", "a.txt"), ("a/b", "b"), ("a\\b", "b"), ("a/", nil), ("", nil), (".", nil), ("..", nil),
            ("...", nil),
            (" . ", nil), ("\u{0}\u{1B}", nil), (".\u{1}.", nil), (" .a. ", "a"), ("a\nb", "ab"), ("a. . ", "a"),
            ("\u{202E}\u{2066}a", "a"), ("👩‍👩‍👧.png", "👩‍👩‍👧.png"), ("a\u{85}b", "ab"), ("-rf", "-rf"), ("日本.pdf", "日本.pdf"),
            ("/\u{301}x", "\u{301}x"),
        ] as [(String, String?)])
    func `A name from a server becomes safe, or is discarded`(name: String, expected: String?) {
        #expect(FileName.sanitize(name) == expected)
    }

    @Test func `A shortened name keeps its extension`() {
        let long = String(repeating: "ä", count: 200)
        #expect(FileName.sanitize(long + ".txt") == String(repeating: "ä", count: 125) + ".txt")
        #expect(FileName.sanitize(long) == String(repeating: "ä", count: 127))
        #expect(FileName.sanitize(long + ".tar.gz") == String(repeating: "ä", count: 124) + ".tar.gz")
        #expect(FileName.sanitize(String(repeating: "👩‍👩‍👧", count: 20)) == String(repeating: "👩‍👩‍👧", count: 14))
        let piled = FileName.sanitize("a" + String(repeating: "\u{301}", count: 300) + ".txt")
        #expect(piled?.utf8.count == 255 && piled?.hasSuffix(".txt") == true)
    }

    @Test(arguments: [
        ("a.txt", "a (1).txt"), ("a", "a (1)"), ("a.tar.gz", "a (1).tar.gz"), ("a.TAR.xz", "a (1).TAR.xz"),
        ("a.b.txt", "a.b (1).txt"), ("tar.gz", "tar (1).gz"), ("Mr. Smith went", "Mr. Smith went (1)"),
        ("v1.2.3", "v1.2 (1).3"),
    ])
    func `The number of a taken name is inserted before the extension`(name: String, expected: String) {
        #expect(FileName.numbered(name, 1) == expected)
    }

    @Test func `A name for FAT contains only characters that FAT allows`() {
        #expect(FileName.plain("Talk: a \"b\" <c>|d?*.tar.gz") == "Talk_ a _b_ _c__d__.tar.gz")
        #expect(FileName.plain("naïve 日本.txt") == "naïve 日本.txt")
    }

    @Test func `Any sanitized name is safe`() {
        let seed = ExchangeRandom.printedSeed("anyNameIsSafe")
        var random = ExchangeRandom(seed: seed)
        let alphabet: [Unicode.Scalar] = [
            "a", "b", ".", " ", "/", "\\", "\0", "\n", "\u{202E}", "ä", "日", "👩", "\u{200D}", "\u{301}", "t", "r",
            "\u{85}",
        ]
        for _ in 0..<5_000 {
            var name = ""
            for _ in 0..<random.number(0..<400) {
                name.unicodeScalars.append(alphabet[random.number(0..<alphabet.count)])
            }
            if random.chance(0.5) { name += ".tar.gz" }
            guard let safe = FileName.sanitize(name) else { continue }
            for result in [safe, FileName.numbered(safe, 1), FileName.numbered(safe, .max)] {
                always((1...255).contains(result.utf8.count), "seed \(seed)")
                always(!result.hasPrefix(".") && !result.hasPrefix(" ") && !result.hasSuffix("."), "seed \(seed)")
                always(
                    !result.unicodeScalars.contains { "/\\\0\n\u{202E}\u{85}".unicodeScalars.contains($0) },
                    "seed \(seed)")
            }
            always(FileName.sanitize(safe) == safe, "seed \(seed)")
            always(FileName.numbered(safe, 1) != FileName.numbered(safe, 2), "seed \(seed)")
        }
    }
}
