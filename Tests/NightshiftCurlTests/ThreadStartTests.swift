import Glibc
import Testing

@testable import NightshiftCurl

struct ThreadStartTests {
    @Test func `A thread that a limit does not allow at first is retried`() {
        var results = [EAGAIN, EAGAIN, 0, EAGAIN]
        var pauses = 0
        let result = ThreadStart.result(pause: { pauses += 1 }, of: { results.removeFirst() })
        #expect(result == 0)
        #expect(pauses == 2)
        #expect(results == [EAGAIN])
    }

    @Test func `Any other failure is reported at once`() {
        let result = ThreadStart.result(pause: {}, of: { EPERM })
        #expect(result == EPERM)
    }
}
