import NightshiftAPI
import Testing
import Transfers

/// Tests of the order in which a download's URLs are requested, and of the outcome.
@Suite struct SourceRoundTests {
    private static let gone = TransferFailure(.httpStatus, "gone", status: 404)
    private static let down = TransferFailure(.cannotConnect, "down")

    private static func round(bytes: String? = nil) -> SourceRound {
        SourceRound(own: "own", mirrors: ["one", "two"], bytes: bytes)
    }

    @Test func `B4: A task requests each URL once, first the URL that the bytes on disk came from`() {
        for (bytes, order) in [
            (nil, ["own", "one", "two"]), ("own", ["own", "one", "two"]), ("one", ["one", "two", "own"]),
            ("two", ["two", "own", "one"]), ("unknown", ["own", "one", "two"]),
        ] {
            var round = Self.round(bytes: bytes)
            var asked: [String] = []
            repeat { asked.append(round.url) } while round.advance(Self.down, nil) == nil
            #expect(asked == order)
            #expect(round.isLast)
        }
        #expect(Self.round(bytes: "one").all == ["one", "own", "two"])
    }

    @Test func `B4: A URL that has sent another file is skipped`() {
        for (wrong, bytes, order) in [
            ([0], nil, ["one", "two"]), ([1], nil, ["own", "two"]), ([0, 1], nil, ["two"]),
            ([0], "two", ["two", "one"]),
            ([2], "one", ["one", "own"]), ([0, 1, 2], nil, ["own"]),
        ] as [([Int], String?, [String])] {
            var round = SourceRound(own: "own", mirrors: ["one", "two"], bytes: bytes, wrong: wrong)
            #expect(Set(round.all) == Set(order) && round.all.first == order[0])
            var asked: [String] = []
            repeat { asked.append(round.url) } while round.advance(Self.down, nil) == nil
            #expect(asked == order)
            #expect(round.isLast)
        }
    }

    @Test func `B4: The outcome is a temporary failure if there is one, else the first URL's failure`() {
        func outcome(_ failures: TransferFailure...) -> SourceRound.Outcome? {
            var round = Self.round()
            return failures.map { round.advance($0, nil) }.last ?? nil
        }
        #expect(outcome(Self.gone, Self.gone, Self.gone)?.isOwn == true)
        #expect(outcome(Self.down, Self.down, Self.down)?.isOwn == true)
        #expect(outcome(Self.down, Self.gone, Self.gone)?.failure == Self.down)
        let mirror = outcome(Self.gone, Self.down, Self.gone)
        #expect(mirror?.failure == Self.down && mirror?.isOwn == false)
    }

    @Test func `B4: A mirror may replace another URL's bytes only if the first URL's file is gone`() {
        var round = Self.round(bytes: "own")
        #expect(round.mayRestart(bytes: "own"))
        _ = round.advance(Self.down, nil)
        #expect(!round.mayRestart(bytes: "own"))
        #expect(round.mayRestart(bytes: nil))
        #expect(round.mayRestart(bytes: round.url))
        round = Self.round(bytes: "own")
        _ = round.advance(Self.gone, nil)
        #expect(round.mayRestart(bytes: "own"))
    }
}
