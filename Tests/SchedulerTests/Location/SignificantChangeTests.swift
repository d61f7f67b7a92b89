import NightshiftAPI
import Scheduler
import TestSupport
import Testing

/// R7: Tests of significant changes: a move to a new cell, or by several hundred metres.
@Suite struct SignificantChangeTests {
    private let around: Surroundings

    init() throws { around = try Surroundings() }

    private func place(_ east: Double, cell: String? = nil, at time: Double) throws -> SignificantChange.Place {
        SignificantChange.Place(fix: try around.fix(east, accuracy: 50, at: time), cell: cell)
    }

    @Test func `R7: The first known location is reported, then each change of five hundred metres`() throws {
        var change = SignificantChange()
        #expect(change.moved(to: try place(0, at: 0)) != nil)
        #expect(change.moved(to: try place(400, at: 1_000)) == nil)
        #expect(change.moved(to: try place(600, at: 2_000)) != nil)
        // The distance counts from the last reported location, not from the first one.
        #expect(change.moved(to: try place(900, at: 3_000)) == nil)
        #expect(change.due == nil)
    }

    @Test func `R7: A new cell counts as a significant change at any distance`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, cell: "262,02,1,7", at: 0))
        #expect(change.moved(to: try place(0, cell: "262,02,1,7", at: 1_000)) == nil)
        #expect(change.moved(to: try place(0, cell: "262,02,1,8", at: 1_001)) != nil)
        // If the modem reports no cell, there is no change.
        #expect(change.moved(to: try place(0, at: 2_000)) == nil)
    }

    @Test func `R7: Changes are reported at most every five minutes, with the newest location`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        #expect(change.moved(to: try place(600, at: 100)) == nil)
        #expect(change.moved(to: try place(1_200, at: 200)) == nil)
        #expect(change.due == 300)
        #expect(change.tick(now: 299) == nil)
        #expect(change.tick(now: 310)?.fix.time == 200)
        // The pause begins at the last report.
        #expect(change.moved(to: try place(2_400, at: 505)) == nil)
        #expect(change.due == 610)
    }

    @Test func `R7: A device that returns within the pause causes no report`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        _ = change.moved(to: try place(600, at: 100))
        #expect(change.moved(to: try place(10, at: 200)) == nil)
        #expect(change.due == nil && change.tick(now: 1_000) == nil)
    }

    @Test func `R7: A location that is too coarse does not count as a change`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        let coarse = SignificantChange.Place(fix: try around.fix(700, accuracy: 3_000, at: 1_000))
        #expect(change.moved(to: coarse) == nil)
        let certain = SignificantChange.Place(fix: try around.fix(9_000, accuracy: 3_000, at: 1_001))
        #expect(change.moved(to: certain) != nil)
    }

    @Test func `R7: The first cell that the modem names does not count as a change of cell`() throws {
        var change = SignificantChange()
        _ = change.moved(to: try place(0, at: 0))
        #expect(change.moved(to: try place(10, cell: "262,02,1,7", at: 1_000)) == nil)
        #expect(change.moved(to: try place(10, cell: "262,02,1,8", at: 2_000)) != nil)
    }
}
