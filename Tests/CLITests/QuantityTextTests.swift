import Foundation
import NightshiftAPI
import Testing

@testable import CLI

struct QuantityTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (102_348, "99.9 KiB"),
            (102_349, "100 KiB"), (1_048_063, "1023 KiB"), (1_048_064, "1.0 MiB"), (1_610_612_736, "1.5 GiB"),
            (Int64.max, "8.0 EiB"), (-2048, "-2.0 KiB"),
        ] as [(Int64, String)])
    func sizes(_ bytes: Int64, _ text: String) {
        #expect(QuantityText.size(bytes) == text)
    }

    @Test(
        arguments: [
            (0, "0 s"), (0.2, "1 s"), (59, "59 s"), (60, "1 min"), (65, "1 min 5 s"), (3_600, "1 h"),
            (7_380, "2 h 3 min"), (273_600, "3 d 4 h"), (-5, "0 s"), (.infinity, "unlimited"),
        ] as [(Double, String)])
    func durations(_ seconds: Double, _ text: String) {
        #expect(QuantityText.duration(seconds) == text)
    }

    @Test(
        arguments: [
            (0, "0:00"), (3.2, "0:04"), (723, "12:03"), (3_723, "1:02:03"), (273_600, "3d 04h"), (1e9, "--:--"),
            (.nan, "--:--"),
        ] as [(Double, String)])
    func countdowns(_ seconds: Double, _ text: String) {
        #expect(QuantityText.countdown(seconds) == text)
    }

    @Test func `The percentage is 100 only if everything is done`() {
        #expect(QuantityText.percent(done: 999_999, of: 1_000_000) == 99)
        #expect(QuantityText.percent(done: 1_000_000, of: 1_000_000) == 100)
        #expect(QuantityText.percent(done: 5, of: 3) == 100)
        #expect(QuantityText.percent(done: 5, of: -1) == nil)
        #expect(QuantityText.percent(done: 0, of: 0) == nil)
    }

    @Test(
        arguments: [
            (0, 10, 12, "[>         ]"), (5, 10, 12, "[=====>    ]"), (9, 10, 12, "[=========>]"),
            (10, 10, 12, "[==========]"), (20, 10, 12, "[==========]"), (1, 0, 12, ""), (1, 2, 2, ""),
        ] as [(Int64, Int64, Int, String)])
    func bars(_ done: Int64, _ total: Int64, _ columns: Int, _ text: String) {
        #expect(QuantityText.bar(done: done, of: total, columns: columns) == text)
    }

    @Test func `The remaining time is unknown without a rate`() {
        #expect(QuantityText.secondsLeft(done: 50, of: 100, bytesPerSecond: 10) == 5)
        #expect(QuantityText.secondsLeft(done: 50, of: 100, bytesPerSecond: 0) == nil)
        #expect(QuantityText.secondsLeft(done: 50, of: -1, bytesPerSecond: 10) == nil)
    }

    @Test func rates() {
        #expect(QuantityText.rate(12_582_912) == "12.0 MiB/s")
        #expect(QuantityText.rate(-1) == "0 B/s")
        #expect(QuantityText.rate(.infinity) == "0 B/s")
    }

    @Test func moments() {
        #expect(Samples.times.absolute(Samples.now) == "2026-11-21 12:00:00")
        #expect(Samples.times.relative(Samples.ago(250)) == "4 min 10 s ago")
        #expect(Samples.times.relative(Samples.ago(-12)) == "in 12 s")
        #expect(Samples.times.relative(Samples.ago(0.5)) == "now")
        let tokyo = TimeText(now: Samples.now, timeZone: TimeZone(secondsFromGMT: 32_400) ?? .gmt)
        #expect(tokyo.absolute(Samples.now) == "2026-11-21 21:00:00")
    }
}
