import ArgumentParser
import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct ArgumentTests {
    @Test(
        "T5: You write form fields as in curl",
        arguments: [
            ("a=b=c", FormField(name: "a", value: "b=c")), ("a=", FormField(name: "a", value: "")),
            ("a=@b;c", FormField(name: "a", source: "b;c")),
            ("a=@b.png;type=image/png", FormField(name: "a", source: "b.png", contentType: "image/png")),
            (
                "a=@b;c;filename=d.e;type=f/g",
                FormField(name: "a", source: "b;c", fileName: "d.e", contentType: "f/g")
            ),
        ] as [(String, FormField)])
    func formFields(_ text: String, _ field: FormField) throws {
        #expect(try FormArgument.parse(text) == field)
    }

    @Test("T5: The command line refuses an invalid form field", arguments: ["", "a", "=b", "a=@", "a=@;type=b/c"])
    func noFormFields(_ text: String) {
        #expect(throws: ValidationError.self) { try FormArgument.parse(text) }
    }

    @Test(
        arguments: [
            ("500", 500), ("500K", 512_000), ("2M", 2_097_152), ("1.5M", 1_572_864), ("1g", 1_073_741_824),
            ("10KiB/s", 10_240), ("none", 0), ("0", 0), ("7b", 7),
        ] as [(String, Int64)])
    func rates(_ text: String, _ bytes: Int64) throws {
        #expect(try Rate.parse(text).bytesPerSecond == bytes)
    }

    @Test(arguments: ["", "K", "-1", "1T", "1 M", "1.2.3", "0.1", "nan", "1e3", "99999999999G", "٣"])
    func `Invalid rates are refused`(_ text: String) {
        #expect(throws: ValidationError.self) { try Rate.parse(text) }
    }

    @Test(
        arguments: [
            ("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5_400), ("2d", 172_800), ("1w", 604_800), ("1.5h", 5_400),
            ("0", 0),
        ] as [(String, Double)])
    func timeSpans(_ text: String, _ seconds: Double) throws {
        #expect(try TimeSpan.parse(text).seconds == seconds)
    }

    @Test func `A request contains only the conditions that the command line specifies`() throws {
        func request(_ arguments: [String]) throws -> TaskRequest {
            var request = TaskRequest(url: "http://a/")
            try ConditionOptions.parse(arguments).apply(to: &request)
            return request
        }
        #expect(try request([]) == TaskRequest(url: "http://a/"))
        let all = try request([
            "--discretionary", "--no-cellular", "--no-expensive", "--no-constrained", "--external-power",
            "--minimum-battery", "40.5",
        ])
        #expect(all.isDiscretionary == true)
        #expect(all.allowsCellularAccess == false)
        #expect(all.allowsExpensiveNetworkAccess == false)
        #expect(all.allowsConstrainedNetworkAccess == false)
        #expect(all.requiresExternalPower == true)
        #expect(all.minimumBattery == 40.5)
        for level in ["-1", "100.1", "nan", "full"] {
            #expect(throws: (any Error).self) { try request(["--minimum-battery", level]) }
        }
    }

    @Test(arguments: ["", "h", "-5", "1y", "1h-3m", "5 m", "101y", "99999w", "inf"])
    func `Invalid durations are refused`(_ text: String) {
        #expect(throws: ValidationError.self) { try TimeSpan.parse(text) }
    }

    // The time is 2026-11-21 12:00 UTC, which is 13:00 in the tests' time zone.
    @Test(arguments: [
        ("+2h", "2026-11-21T14:00:00Z"), ("22:00", "2026-11-21T21:00:00Z"), ("06:30", "2026-11-22T05:30:00Z"),
        ("2026-11-23", "2026-11-22T23:00:00Z"), ("2026-11-23T06:30", "2026-11-23T05:30:00Z"),
        ("2026-11-23 06:30:15", "2026-11-23T05:30:15Z"), ("2026-11-23T06:30:00Z", "2026-11-23T06:30:00Z"),
        ("2026-11-23T06:30-05:30", "2026-11-23T12:00:00Z"), ("2026-11-23T06:30+01:00", "2026-11-23T05:30:00Z"),
    ])
    func moments(_ text: String, _ expected: String) throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3_600))
        let date = try TimeArgument.parse(text).resolved(now: Samples.now, timeZone: zone)
        #expect(try date == Date(expected, strategy: .iso8601))
    }

    @Test(arguments: [
        "", "tomorrow", "25:00", "12:60", "1:00", "2026-13-01", "26-11-23", "2026-11-23T", "2026-11-23T06:30+1",
        "2026-11-23T06:30+25:00", "+", "06:30Z",
    ])
    func `Invalid times are refused`(_ text: String) {
        #expect(throws: ValidationError.self) { try TimeArgument.parse(text) }
    }

    @Test func `The command line refuses a date that does not exist`() throws {
        #expect(try TimeArgument.parse("2026-02-30").resolved(now: Samples.now, timeZone: .gmt) == nil)
    }

    @Test func ranges() throws {
        #expect(try TaskRange.parse("12").ids == 12...12)
        #expect(TaskRange.ids([try TaskRange.parse("3-5"), try TaskRange.parse("4")]) == [3, 4, 5].map { TaskID($0) })
        for text in ["", "0", "-3", "5-3", "1-2-3", "a", "1-99999999999"] {
            #expect(throws: ValidationError.self) { try TaskRange.parse(text) }
        }
        #expect(TaskRange.text([9, 3, 7, 8].map { TaskID($0) }) == "3 7-9")
    }

    @Test func `You can type a state as list prints it or as the API names it`() throws {
        #expect(try ListCommand.parse(["--state", "paused", "--state", "failed"]).state == [.suspended, .failed])
        #expect(try ListCommand.parse(["--state", "suspended"]).state == [.suspended])
    }

    @Test func headers() throws {
        #expect(try HeaderArgument.parse("Accept:  text/html ") == HeaderField(name: "Accept", value: "text/html"))
        #expect(try HeaderArgument.parse("X-A: a:b").value == "a:b")
        #expect(try HeaderArgument.parse("X-A:").value == "")
        for text in ["Accept", ": x", "A b: c", "A: x\r\nB: y", "Ä: x", "A: \0"] {
            #expect(throws: ValidationError.self) { try HeaderArgument.parse(text) }
        }
    }

    @Test func checksums() throws {
        let hex = String(repeating: "aB", count: 32)
        #expect(try ChecksumArgument.parse("SHA256:" + hex) == Checksum(algorithm: .sha256, hex: hex.lowercased()))
        #expect(try ChecksumArgument.parse("sha-256:" + hex).algorithm == .sha256)
        let noHex = "md5:" + String(repeating: "g", count: 32)
        for text in ["", "sha-256", "crc32:12345678", "sha-256:12", "sha-1:" + hex, noHex] {
            #expect(throws: ValidationError.self) { try ChecksumArgument.parse(text) }
        }
    }

    @Test(arguments: [
        "", "example.org/x", "ftp://a/b", "http://", "https:///x", "http://a b/", "http://a/\u{1b}",
        "file:///etc/passwd", "http://a.example:0/", "http://a.example:65536/", "http://a.example:x/", "http://[::1/",
        "http://[::g]/", "http://[::1]x/", "http://1.2.3.4.5/", "http://a..example/", "http://a%00b/",
        "http://a.example/" + String(repeating: "x", count: Limits.urlLength), "http://u%00:p@a.example/",
    ])
    func `Invalid URLs are refused`(_ text: String) {
        #expect(URLArgument.mistake(in: text) != nil)
    }

    @Test(arguments: [
        ("http://a.example/x", "a.example"), ("HTTPS://A.example:8443?x", "a.example"),
        ("https://bob:p@ss@a.example/x", "a.example"), ("http://[::1]:80/", "::1"),
        ("https://bücher.example/ä", "bücher.example"),
    ])
    func hosts(_ url: String, _ host: String) {
        #expect(URLArgument.mistake(in: url) == nil)
        #expect(URLArgument.host(of: url) == host)
    }
}
