import Glibc
import Testing

@testable import Executors

struct ThreadStartTests {
    @Test func `The start of a thread is tried again while a limit prevents it`() {
        var results = [EAGAIN, EAGAIN, 0, EAGAIN]
        var pauses = 0
        let result = ThreadStart.result(pause: { pauses += 1 }, of: { results.removeFirst() })
        #expect(result == 0)
        #expect(pauses == 2)
        #expect(results == [EAGAIN])
    }

    @Test func `Any other failure to start a thread is reported at once`() {
        let result = ThreadStart.result(pause: {}, of: { EPERM })
        #expect(result == EPERM)
    }
}
