import Testing
import Transfers

@Suite struct ContentRangeTests {
    @Test(arguments: [
        ("bytes 0-0/1", ContentRange.bytes(first: 0, last: 0, total: 1)),
        ("bytes 10-99/100", .bytes(first: 10, last: 99, total: 100)),
        ("Bytes  10-99/*", .bytes(first: 10, last: 99, total: nil)),
        (" bytes=10-99/100 ", .bytes(first: 10, last: 99, total: 100)),
        ("bytes */100", .unsatisfied(total: 100)),
        ("bytes */0", .unsatisfied(total: 0)),
        ("bytes 0-9223372036854775806/9223372036854775807", .bytes(first: 0, last: .max - 1, total: .max)),
    ])
    func `A valid Content-Range is parsed`(field: String, range: ContentRange) {
        #expect(ContentRange(field: field) == range)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "10-99/100", "items 10-99/100", "bytes10-99/100", "bytes 99-10/100", "bytes 10-100/100",
        "bytes 10-99/50", "bytes 10-99", "bytes -10-99/100", "bytes 10-/100", "bytes -99/100", "bytes */*",
        "bytes 10-99/100 x", "bytes 10-99/9223372036854775808", "bytes 99999999999999999999-1/2", "bytes 1 -2/3",
        "bytes 0-9223372036854775807/*",
    ])
    func `An invalid Content-Range is refused`(field: String) {
        #expect(ContentRange(field: field) == nil)
    }
}
