import Device
import Foundation
import Glibc
import NightshiftAPI
import Testing

/// The clocks of the machine that runs the tests.
@Suite struct SystemClockTests {
    @Test func theReadingIsTheKernels() throws {
        let before = Self.bootSeconds()
        let reading = SystemClock().now()
        let after = Self.bootSeconds()
        #expect(reading.bootSeconds >= before && reading.bootSeconds <= after)
        #expect(abs(reading.wallSeconds - Date().timeIntervalSince1970) < 5)
        let bootID = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(bootID == reading.bootID + "\n")
        #expect(SystemClock().now().bootID == reading.bootID)
    }

    @Test(.timeLimit(.minutes(5))) func aSleepEndsAtItsTime() async throws {
        let clock = SystemClock()
        let end = clock.now().bootSeconds + 0.05
        try await clock.sleep(untilBootSeconds: end)
        #expect(clock.now().bootSeconds >= end)
        // What is past is not waited for.
        try await clock.sleep(untilBootSeconds: end - 1_000)
    }

    @Test(.timeLimit(.minutes(5))) func aCancelledSleepThrows() async {
        let clock = SystemClock()
        let sleep = Task { try await clock.sleep(untilBootSeconds: .greatestFiniteMagnitude) }
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    /// Sets the wall clock to the time that it shows, which moves it by less than a millisecond.
    @Test(.timeLimit(.minutes(5)), .enabled(if: Self.maySetClock, "setting the wall clock needs CAP_SYS_TIME"))
    func settingTheWallClockIsNoticed() async {
        let changes = SystemClock().wallClockChanges()
        // The kernel tells only of what happens once somebody listens: the clock is set until that is heard.
        let setting = Task {
            while !Task.isCancelled {
                Self.setClockToItself()
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        var heard = 0
        for await _ in changes {
            heard += 1
            if heard == 2 { break }
        }
        setting.cancel()
        #expect(heard == 2)
    }

    private static let maySetClock: Bool = {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("CapEff:") }),
            let capabilities = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16)
        else { return false }
        // CAP_SYS_TIME, linux/capability.h.
        return capabilities & (1 << 25) != 0
    }()

    private static func setClockToItself() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        clock_settime(CLOCK_REALTIME, &time)
    }

    private static func bootSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
