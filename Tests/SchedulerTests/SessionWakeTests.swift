import NightshiftAPI
import Scheduler
import Testing

@Suite struct SessionWakeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var wake = SessionWake()
        var expected: WakeReason?

        init(_ description: String, _ expected: WakeReason?, _ adjust: (inout SessionWake) -> Void) {
            testDescription = description
            self.expected = expected
            wake.lastMessage = 5
            wake.wokenThrough = 4
            adjust(&wake)
        }
    }

    @Test(
        arguments: [
            Row("the last task has ended", .sessionEvents) { _ in },
            Row("another task continues", nil) { $0.unfinished = 1 },
            Row("the app was woken for it", nil) { $0.wokenThrough = 5 },
            Row("its events wake nobody", nil) { $0.wakesApp = false },
            Row("a server asks while another task continues", .challenge) {
                $0.unfinished = 2
                $0.hasChallenge = true
            },
            Row("a task wants to know whether to begin", .delayedRequest) {
                $0.unfinished = 1
                $0.hasDelayedRequest = true
            },
            Row("both", .challenge) {
                $0.hasDelayedRequest = true
                $0.hasChallenge = true
            },
            Row("a question that the app was woken for", nil) {
                $0.hasChallenge = true
                $0.wokenThrough = 5
            },
            Row("nothing was ever told", nil) {
                $0.lastMessage = 0
                $0.wokenThrough = 0
            },
        ])
    func `An app is woken only for new events`(row: Row) {
        #expect(row.wake.reason == row.expected)
    }
}
