import NightshiftAPI
import Testing
import Transfers

/// What the service keeps from one decision over starting to the next.
@Suite struct AdmissionsTests {
    @Test func `One admission at a time, and one more for all who ask meanwhile`() {
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

    @Test func `Who keeps windows open hears of the first and the last`() {
        var look = LatestLook()
        let heard = [0, 1, 5, 0, 0].map { look.note(discretionary: $0) }
        #expect(heard == [false, true, false, true, false])
    }

    @Test func `Limits that nobody names stay`() {
        var limits = ServiceLimits()
        #expect(limits.settings == ServiceSettings(rateLimit: nil, maximumTransfers: 32))
        limits = limits.changed(by: ServiceSettings(rateLimit: 1_000))
        limits = limits.changed(by: ServiceSettings(maximumTransfers: 3))
        #expect(limits.settings == ServiceSettings(rateLimit: 1_000, maximumTransfers: 3))
        #expect(limits.changed(by: ServiceSettings(rateLimit: 0)).rateLimit == nil)
        let slow = ServiceSettings(rateLimit: 5)
        #expect(ServiceLimits(slow) == ServiceLimits().changed(by: slow))
    }
}
