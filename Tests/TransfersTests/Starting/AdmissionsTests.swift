import NightshiftAPI
import Testing
import Transfers

/// Tests of the state that scheduling decisions keep from one pass to the next.
@Suite struct AdmissionsTests {
    @Test func `Requests during a scheduling pass cause exactly one further pass`() {
        var loop = PumpLoop()
        #expect(loop.begin() == true)
        #expect(loop.next(isStopping: false) == true)
        #expect(loop.begin() == false)
        #expect(loop.begin() == false)
        #expect(loop.next(isStopping: false) == true)
        #expect(loop.next(isStopping: false) == false)
        #expect(loop.begin() == true)
        loop.request()
        #expect(loop.next(isStopping: true) == false)
    }

    @Test func `The owner of maintenance windows is notified of the first and the last discretionary task`() {
        var look = LastSchedulingPass()
        let heard = [0, 1, 5, 0, 0].map { look.note(discretionary: $0) }
        #expect(heard == [false, true, false, true, false])
    }

    @Test func `A change of one limit keeps the other limits`() {
        var limits = ServiceLimits()
        #expect(limits.settings == ServiceSettings(maximumTransfers: 32, yield: .auto))
        limits = limits.changed(by: ServiceSettings(rateLimit: 1_000))
        limits = limits.changed(by: ServiceSettings(maximumTransfers: 3))
        limits = limits.changed(by: ServiceSettings(yield: .off))
        #expect(limits.settings == ServiceSettings(rateLimit: 1_000, maximumTransfers: 3, yield: .off))
        #expect(limits.changed(by: ServiceSettings(rateLimit: 0)).rateLimit == nil)
        let slow = ServiceSettings(rateLimit: 5)
        #expect(ServiceLimits(slow) == ServiceLimits().changed(by: slow))
    }
}
