import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R7: a new cell, or several hundred metres.
@Suite struct SignificantChangeTests {
    private let around: Surroundings

    init() throws { around = try Surroundings() }

    private func place(_ east: Double, cell: String? = nil, at time: Double) throws -> SignificantChange.Place {
        SignificantChange.Place(fix: try around.fix(east, accuracy: 50, at: time), cell: cell)
    }

    @Test func `R7: First the place that is known, then each five hundred metres`() throws {
        var change = SignificantChange()
        #expect(change.moved(to: try place(0, at: 0)) != nil)
        #expect(change.moved(to: try place(400, at: 1_000)) == nil)
        #expect(change.moved(to: try place(600, at: 2_000)) != nil)
        // From there on, and not from the beginning.
        #expect(change.moved(to: try place(900, at: 3_000)) == nil)
        #expect(change.due == nil)
    }

    @Test func `R7: A new cell is a change, whatever the distance`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, cell: "262,02,1,7", at: 0))
        #expect(change.moved(to: try place(0, cell: "262,02,1,7", at: 1_000)) == nil)
        #expect(change.moved(to: try place(0, cell: "262,02,1,8", at: 1_001)) != nil)
        // Where the modem says nothing, nothing has changed.
        #expect(change.moved(to: try place(0, at: 2_000)) == nil)
    }

    @Test func `R7: Not more often than every five minutes, and then the newest place`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        #expect(change.moved(to: try place(600, at: 100)) == nil)
        #expect(change.moved(to: try place(1_200, at: 200)) == nil)
        #expect(change.due == 300)
        #expect(change.tick(now: 299) == nil)
        #expect(change.tick(now: 310)?.fix.time == 200)
        // The pause counts from when it was told.
        #expect(change.moved(to: try place(2_400, at: 505)) == nil)
        #expect(change.due == 610)
    }

    @Test func `R7: Who has come back within the pause has not changed`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        _ = change.moved(to: try place(600, at: 100))
        #expect(change.moved(to: try place(10, at: 200)) == nil)
        #expect(change.due == nil && change.tick(now: 1_000) == nil)
    }

    @Test func `R7: A place that is known too coarsely is no change`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        let coarse = SignificantChange.Place(fix: try around.fix(700, accuracy: 3_000, at: 1_000))
        #expect(change.moved(to: coarse) == nil)
        let certain = SignificantChange.Place(fix: try around.fix(9_000, accuracy: 3_000, at: 1_001))
        #expect(change.moved(to: certain) != nil)
    }

    @Test func `R7: A place that was told before the modem said anything has the cell that it names first`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        #expect(change.moved(to: try place(10, cell: "262,02,1,7", at: 1_000)) == nil)
        #expect(change.moved(to: try place(10, cell: "262,02,1,8", at: 2_000)) != nil)
    }
}
