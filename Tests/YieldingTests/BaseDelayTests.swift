import Testing

@testable import Yielding

@Suite struct BaseDelayTests {
    @Test func `The base delay is the minimum of the last minutes`() {
        var base = BaseDelay(now: 0)
        #expect(base.value == nil)
        for (roundTrip, now) in [(0.05, 0.0), (0.02, 1), (0.08, 2)] { base.add(roundTrip, now: now) }
        #expect(base.value == 0.02)
        for second in 3..<240 { base.add(0.06, now: Double(second)) }
        #expect(base.value == 0.02)
        for second in 240..<400 { base.add(0.06, now: Double(second)) }
        #expect(base.value == 0.06)
    }

    @Test func `A pause or a clock that goes back begins a new measurement`() {
        for now in [20.0, -5] {
            var base = BaseDelay(now: 0)
            base.add(0.02, now: 1)
            base.add(0.3, now: now)
            #expect(base.value == 0.3)
        }
    }

    @Test func `A time close to the minimum confirms it`() {
        var base = BaseDelay(now: 0)
        base.add(0.02, now: 1)
        base.add(0.04, now: 2)
        #expect(base.confirmed == 1)
        base.add(0.0205, now: 3)
        #expect(base.confirmed == 3)
    }
}
