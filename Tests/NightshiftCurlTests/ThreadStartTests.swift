import Glibc
import Testing

@testable import NightshiftCurl

struct ThreadStartTests {
    @Test func `The loop retries the start of a thread that a limit prevents at first`() {
        var results = [EAGAIN, EAGAIN, 0, EAGAIN]
        var pauses = 0
        let result = ThreadStart.result(pause: { pauses += 1 }, of: { results.removeFirst() })
        #expect(result == 0)
        #expect(pauses == 2)
        #expect(results == [EAGAIN])
    }

    @Test func `The loop reports any other failure to start a thread at once`() {
        let result = ThreadStart.result(pause: {}, of: { EPERM })
        #expect(result == EPERM)
    }
}
