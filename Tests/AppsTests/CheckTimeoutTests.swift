import Testing

@testable import Apps

/// Tests of timeouts for other processes, which count the planned pauses instead of the clock.
struct CheckTimeoutTests {
    @Test func `The pauses double up to the longest pause, and their sum is the total timeout`() {
        var timeout = CheckTimeout(.milliseconds(40), first: .milliseconds(1), longest: .milliseconds(10))
        var pauses: [Duration] = []
        while let pause = timeout.pause() { pauses.append(pause) }
        #expect(pauses == [1, 2, 4, 8, 10, 10, 5].map { .milliseconds($0) })
        #expect(timeout.pause() == nil)
    }

    @Test func `A check without a pause is the last one`() {
        var timeout = CheckTimeout(.zero, first: .milliseconds(1), longest: .milliseconds(10))
        #expect(timeout.pause() == nil)
    }

    /// The machine sleeps for an hour in each pause in turn, and the other processes need one pause more than planned.
    @Test func `Sleep of the machine during a pause does not cause a timeout`() {
        var whole = CheckTimeout(.seconds(2), first: .microseconds(100), longest: .milliseconds(10))
        var count = 0
        while whole.pause() != nil { count += 1 }
        for stoodStill in 0..<(count - 1) {
            var timeout = CheckTimeout(.seconds(2), first: .microseconds(100), longest: .milliseconds(10))
            var (taken, clock) = (0, Duration.zero)
            while taken <= stoodStill + 1, let pause = timeout.pause() {
                clock += taken == stoodStill ? .seconds(3_600) : pause
                taken += 1
            }
            #expect(taken == stoodStill + 2 && clock > .seconds(3_600), "in pause \(stoodStill)")
        }
    }
}
