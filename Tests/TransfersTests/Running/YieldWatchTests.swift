import NightshiftAPI
import Testing

@testable import Transfers

/// Tests of the journal entries about yielding to other traffic.
@Suite struct YieldWatchTests {
    private static func status(_ isYielding: Bool) -> YieldStatus {
        YieldStatus(bytesPerSecond: 1_024, capacity: 2_048, roundTrip: 0.05, target: 0.02, isYielding: isYielding)
    }

    /// Returns the seconds and kinds of the entries, if the transfer yields in these ranges of seconds.
    private static func entries(_ ranges: [Range<Int>], seconds: Int) -> [String] {
        var watch = YieldWatch()
        return (0..<seconds).compactMap { second in
            let isYielding = ranges.contains { $0.contains(second) }
            return watch.read(status(isYielding), at: Double(second)).map { "\(second) \($0.decision)" }
        }
    }

    @Test(
        arguments: [
            ([10..<40], ["15 yielded", "45 yieldEnded"]),
            // A page that loads causes no entry.
            ([10..<15, 30..<34], []),
            // Neither does a short pause of the other traffic.
            ([10..<40, 44..<80], ["15 yielded", "85 yieldEnded"]),
            // The next beginning is noted a minute after the last one.
            ([10..<20, 30..<120], ["15 yielded", "25 yieldEnded", "75 yielded", "125 yieldEnded"]),
        ] as [([Range<Int>], [String])])
    func `B9: The journal gets only changes that last`(_ ranges: [Range<Int>], _ expected: [String]) {
        #expect(Self.entries(ranges, seconds: 200) == expected)
    }

    @Test func `B9: The entry contains the share of the line and the delay`() {
        var watch = YieldWatch()
        _ = watch.read(Self.status(true), at: 0)
        let entry = watch.read(Self.status(true), at: 5)
        #expect(entry?.detail == "1.0 KiB/s of 2.0 KiB/s, round trip 50 ms, target 20 ms.")
    }

    @Test func `A transfer that no longer has a connection no longer yields`() {
        var watch = YieldWatch()
        _ = watch.read(Self.status(true), at: 0)
        _ = watch.read(Self.status(true), at: 5)
        _ = watch.read(nil, at: 6)
        let entry = watch.read(nil, at: 11)
        #expect(entry?.decision == .yieldEnded)
    }
}
