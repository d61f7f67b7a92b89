import Foundation
import NightshiftAPI
import Testing

@Suite struct TimestampTests {
    private func decode(_ text: String) throws -> Double {
        try JSON.decode([Date].self, from: try JSONEncoder().encode([text]))[0].timeIntervalSince1970
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2027-01-15T08:00:00Z", 1_800_000_000), ("2027-01-15t08:00:00z", 1_800_000_000),
        ("2027-01-15T08:00:00.25Z", 1_800_000_000.25), ("2027-01-15T09:30:00+01:30", 1_800_000_000),
        ("2027-01-14T11:21:00-20:39", 1_800_000_000), ("1969-12-31T23:59:59Z", -1),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("2016-12-31T23:59:60Z", 1_483_228_800), ("0000-03-01T00:00:00Z", -62_162_035_200),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799.999999999),
    ])
    func `The parser accepts RFC 3339 times`(text: String, seconds: Double) throws {
        #expect(try decode(text) == seconds)
    }

    @Test(arguments: [
        "", "2027", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15 08:00:00Z", "2027-01-15T08:00Z",
        "2027-01-15T08:00:00Zx", "2027-01-15T08:00:00.Z", "2027-01-15T08:00:00+0100", "2027-01-15T24:00:00Z",
        "2027-01-15T08:60:00Z", "2027-01-15T08:00:61Z", "2027-00-15T08:00:00Z", "2027-13-15T08:00:00Z",
        "2027-02-29T08:00:00Z", "2100-02-29T08:00:00Z", "2027-01-00T08:00:00Z", "2027-01-15T08:00:00+24:00",
        "+2027-01-15T08:00:00Z", "2027-1-15T08:00:00Z", " 2027-01-15T08:00:00Z", "２027-01-15T08:00:00Z",
    ])
    func `The parser refuses other times`(text: String) {
        #expect(throws: DecodingError.self) { try decode(text) }
    }

    @Test func `B1: A time of any year is written in a form that is parsed as the same time`() throws {
        for seconds in stride(from: -62_135_596_800.0, through: 253_402_300_799, by: 8_639_999_999.5) {
            let text = Timestamp.text(Date(timeIntervalSince1970: seconds))
            #expect(Timestamp.date(text)?.timeIntervalSince1970 == seconds, "\(text)")
        }
        #expect(Timestamp.text(Date(timeIntervalSince1970: -62_135_596_800)) == "0001-01-01T00:00:00.000Z")
        #expect(Timestamp.text(Date(timeIntervalSince1970: 951_782_400.25)) == "2000-02-29T00:00:00.250Z")
    }

    @Test func `A written time is parsed as the same time`() throws {
        for seconds in stride(from: -3_000_000_000.0, through: 30_000_000_000, by: 86_399_999.125) {
            let data = try JSON.encode([Date(timeIntervalSince1970: seconds)])
            let read = try JSON.decode([Date].self, from: data)[0].timeIntervalSince1970
            #expect(abs(read - seconds) < 0.001, "\(seconds)")
        }
    }

    @Test(arguments: [
        (1e308, "9999-12-31T23:59:59.000Z"), (-1e300, "0001-01-0"), (.infinity, "9999-12-31T23:59:59.000Z"),
        (253_402_300_799.999_99, "9999-12-31T23:59:59.000Z"), (.nan, "9999-12-31T23:59:59.000Z"),
    ])
    func `A time beyond the range of timestamps is written as the nearest valid one`(
        seconds: Double, text: String
    ) throws {
        let data = try JSON.encode([Date(timeIntervalSince1970: seconds)])
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("[\"" + text))
        #expect(throws: Never.self) { try JSON.decode([Date].self, from: data) }
    }
}
