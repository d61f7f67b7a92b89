import Clock
import Foundation
import Glibc
import TestSupport
import Testing

/// Tests with valid and invalid contents of `/proc/PID/stat`.
@Suite struct ProcessStatisticsTests {
    private static func line(_ name: String, _ state: String = "S", _ rest: String = "1 1234 1234 0 -1") -> String {
        "4711 (\(name)) \(state) \(rest) 4194304 1 2 3 4 5 6 7 8 20 0 1 0 8642 1000 20\n"
    }

    @Test(arguments: ["sh", "a b", "a) R 9 9 9", "((", ")", "", "\u{301}"]) func `The parser accepts any process name`(
        _ name: String
    )
        throws
    {
        let statistics = try #require(ProcessStatistics(parsing: Self.line(name)))
        #expect(statistics.state == "S")
        #expect(statistics.parent == 1)
        #expect(statistics.group == 1_234)
        #expect(statistics.startTime == 8_642)
    }

    @Test(arguments: [
        ("R", false, false), ("S", false, false), ("D", false, false), ("I", false, false), ("T", true, false),
        ("t", true, false), ("Z", false, true), ("X", false, true),
    ])
    func `The state letter says whether a process is stopped or has ended`(
        _ state: String, isStopped: Bool, isZombie: Bool
    ) throws {
        let statistics = try #require(ProcessStatistics(parsing: Self.line("sh", state)))
        #expect(statistics.isStopped == isStopped)
        #expect(statistics.isZombie == isZombie)
    }

    @Test(arguments: [
        "", "4711", "4711 (sh", "4711 (sh)", "4711 (sh) S 1 1234", line("sh", "S", "one 1234 1234 0 -1"),
    ])
    func `The parser returns nil for an incomplete line`(_ text: String) {
        #expect(ProcessStatistics(parsing: text) == nil)
    }

    @Test func `The statistics of the running process can be read`() throws {
        let own = try #require(ProcessStatistics(of: getpid()))
        #expect(own.parent == getppid())
        #expect(own.group == getpgrp())
        #expect(!own.isZombie && !own.isStopped)
        // No process has the ID 0.
        #expect(ProcessStatistics(of: 0) == nil)
    }

    @Test(arguments: 1...20) func `No text crashes the parser`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let characters = Array(") (SZ0123456789-\n\u{301}é")
        for _ in 0..<200 {
            var text = Array(Self.line("sh"))
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                if Bool.random(using: &random) {
                    text[place] = characters[Int.random(in: characters.indices, using: &random)]
                } else {
                    text.remove(at: place)
                }
            }
            _ = ProcessStatistics(parsing: String(text))
        }
    }
}
