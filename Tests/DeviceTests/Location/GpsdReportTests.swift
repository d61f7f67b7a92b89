import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of data from gpsd, and of data that another program may send instead.
@Suite struct GpsdReportTests {
    private static func report(_ text: String) -> GpsdReport { GpsdReport(line: text.utf8) }

    private static func place(_ accuracy: Double, isAssumed: Bool = false) throws -> GpsdReport {
        .place(try #require(Coordinate(latitude: 52.5, longitude: 13.4)), accuracy: accuracy, isAssumed: isAssumed)
    }

    @Test(arguments: [
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":17.1,"epx":1,"epy":2}"#, 17.1, false),
        (#"{"class":"TPV","mode":2,"lat":52.5,"lon":13.4,"epx":11.5,"epy":9}"#, 11.5, false),
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"epx":11.5}"#, 50, true),
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4}"#, 50, true),
        (#"{"class":"TPV","mode":2,"lat":52.5,"lon":13.4,"speed":1.4,"more":[{}]}"#, 100, true),
        // A driver does not know these values or writes them in another form.
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":17.1,"epx":nan,"ept":-nan,"epv":inf}"#, 17.1, false),
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph": NaN ,"epx":11.5,"epy":9,"ept":-inf}"#, 11.5, false),
        (#"{"class":"TPV","note":"\" nan","mode":3,"lat":52.5,"lon":13.4,"eph":nan}"#, 50, true),
        (#"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":17.1,"epx":"n/a","activated":7}"#, 17.1, false),
    ])
    func `R6: A location has gpsd's accuracy, or an assumed one`(
        _ text: String, _ accuracy: Double, _ isAssumed: Bool
    ) throws {
        #expect(try Self.report(text) == Self.place(accuracy, isAssumed: isAssumed))
    }

    @Test(arguments: [
        #"{"class":"TPV","mode":1,"lat":52.5,"lon":13.4,"eph":5}"#,
        #"{"class":"TPV","lat":52.5,"lon":13.4,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lon":13.4,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":90.1,"lon":13.4,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":52.5,"lon":-180.1,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":52.5,"lon":1e999,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":NaN,"lon":13.4,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":"52.5","lon":13.4,"eph":5}"#,
        #"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":0}"#,
        #"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":-5}"#,
        #"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":100001}"#,
        #"{"class":"SKY","lat":52.5,"lon":13.4,"mode":3,"eph":5}"#,
        #"{"class":7}"#, "[]", "", "{", "null", "\u{0}\u{1}", String(repeating: "[", count: 10_000),
    ])
    func `R6: The parser returns no location for invalid data`(_ text: String) {
        #expect(Self.report(text) == .other)
    }

    @Test func `R6: The parser turns numbers that JSON does not have into null and keeps texts unchanged`() {
        let line = #"{"a":[nan,-inf,+Infinity,1e-5,true],"nan":"nan \" -inf","b":nano}"#
        let expected = #"{"a":[null,null,null,1e-5,true],"nan":"nan \" -inf","b":nano}"#
        #expect(String(decoding: GpsdNumbers.readable(line.utf8), as: UTF8.self) == expected)
    }

    @Test func `R6: The parser reports gpsd's greeting and its receivers`() {
        #expect(Self.report(#"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3}"#) == .version("3.22"))
        #expect(Self.report(#"{"class":"DEVICES","devices":[{"path":"/dev/a"},{"path":"/dev/b"}]}"#) == .devices(2))
        #expect(Self.report(#"{"class":"DEVICES"}"#) == .devices(0))
        let activated = #"{"class":"DEVICE","path":"/dev/a","activated":"2026-11-23T03:23:59.357Z"}"#
        #expect(Self.report(activated) == .deviceActivated)
        #expect(Self.report(#"{"class":"DEVICE","path":"/dev/a","activated":0}"#) == .other, "it is gone")
    }

    @Test func `R6: The parser accepts lines in any pieces, and skips a line that is too long`() throws {
        let line = #"{"class":"TPV","mode":3,"lat":52.5,"lon":13.4,"eph":9}"# + "\r\n"
        let long = #"{"class":"DEVICES","devices":["# + String(repeating: " ", count: GpsdLines.longestLine) + "]}\n"
        let all = Array((line + long + "\n" + line).utf8)
        var random = SplitMix64(seed: 14)
        for _ in 1...50 {
            var lines = GpsdLines()
            var reports: [GpsdReport] = []
            var rest = all[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...3_000, using: &random)
                reports += lines.read(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(try reports == [Self.place(9), Self.place(9)])
        }
    }

    @Test(arguments: [
        (nil, GpsdAddress.host("127.0.0.1", port: 2947)), ("", .host("127.0.0.1", port: 2947)), ("none", .off),
        ("localhost:29470", .host("127.0.0.1", port: 29_470)), ("[::1]:2947", .host("::1", port: 2947)),
        ("10.0.0.9:1", .host("10.0.0.9", port: 1)), ("gps.example.org:2947", .unreadable("gps.example.org:2947")),
        ("127.0.0.1", .unreadable("127.0.0.1")), ("127.0.0.1:0", .unreadable("127.0.0.1:0")),
        ("::1:2947", .unreadable("::1:2947")), ("127.0.0.1:70000", .unreadable("127.0.0.1:70000")),
    ])
    func `R6: The setting for gpsd is an address and a port`(_ text: String?, _ address: GpsdAddress) {
        #expect(GpsdAddress(text) == address)
    }
}
