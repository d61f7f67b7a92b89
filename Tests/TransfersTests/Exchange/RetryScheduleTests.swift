import Testing
import Transfers

@Suite struct RetryScheduleTests {
    @Test(arguments: [
        (-5, 0.5, 0.5), (0, 0.5, 0.5), (1, 0.5, 0.5), (2, 0.5, 1), (3, 0.5, 2), (9, 0.5, 128), (10, 0.5, 150),
        (1_000, 0.5, 150), (.max, 0.5, 150), (.min, 0.5, 0.5), (1, 0, 0.1), (20, 0, 0.1), (1, .nan, 0.1), (4, 7, 8),
    ])
    func `The delay of retries doubles with each attempt up to a limit, and varies randomly`(
        attempt: Int, random: Double, expected: Double
    ) {
        #expect(RetrySchedule.delay(attempt: attempt, random: random) == expected)
    }

    @Test(arguments: [
        ("3", RetryAfter.seconds(3)), ("0", .seconds(0)), (" 120 ", .seconds(120)), ("1.5", .seconds(1.5)),
        ("99999999999999999999999", .seconds(1e23)), ("Sun, 06 Nov 1994 08:49:37 GMT", .date(784_111_777)),
    ])
    func `A valid Retry-After is parsed`(field: String, value: RetryAfter) {
        #expect(RetryAfter(field: field) == value)
    }

    @Test(arguments: ["", "-1", "soon", "3 s", "1e9", "0x10", "inf", "nan", ".5", "1.2.3", "١"])
    func `An invalid Retry-After is refused`(field: String) {
        #expect(RetryAfter(field: field) == nil)
    }

    @Test func `The schedule obeys the server's Retry-After up to an hour`() {
        #expect(RetrySchedule.retryAfter(.seconds(3), now: 1_000) == 3)
        #expect(RetrySchedule.retryAfter(.seconds(1e23), now: 1_000) == 3600)
        #expect(RetrySchedule.retryAfter(.seconds(.nan), now: 1_000) == 0)
        #expect(RetrySchedule.retryAfter(.date(1_010), now: 1_000) == 10)
        #expect(RetrySchedule.retryAfter(.date(990), now: 1_000) == 0)
        #expect(RetrySchedule.retryAfter(.date(1e12), now: 1_000) == 3600)
    }
}
