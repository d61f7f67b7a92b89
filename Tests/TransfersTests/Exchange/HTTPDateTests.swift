import NightshiftAPI
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("  Sun, 6 Nov 1994 08:49:37 GMT  ", 784_111_777),
        ("sun, 06 nov 1994 08:49:37 UTC", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Tuesday, 19-Jan-38 03:14:08 GMT", 2_147_483_648),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
    func `All three formats of an HTTP date are parsed`(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text) == seconds)
    }

    @Test(arguments: [
        "", "now", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Thu, 29 Feb 2023 12:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
        "Sun, 06 Nuv 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 194 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT x", "1994-11-06T08:49:37Z", "Sun Nov 6 08:49:37 94",
    ])
    func `An invalid HTTP date is refused`(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func `A formatted date is parsed back to the same time`() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(-.infinity) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.format(.infinity) == "Fri, 31 Dec 9999 23:59:59 GMT")
        let seed = ExchangeRandom.printedSeed("formatIsReadBack")
        var random = ExchangeRandom(seed: seed)
        for _ in 0..<5_000 {
            let seconds = Double(random.number(0..<253_402_300_800))
            #expect(HTTPDate.parse(HTTPDate.format(seconds)) == seconds, "seed \(seed)")
        }
    }
}
