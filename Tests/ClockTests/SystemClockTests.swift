import Clock
import Foundation
import Glibc
import NightshiftAPI
import TestSupport
import Testing

/// Tests of the clocks of the machine that runs them.
@Suite struct SystemClockTests {
    @Test func `A reading agrees with the kernel's clocks and boot ID`() throws {
        let before = (boot: Self.seconds(CLOCK_BOOTTIME), wall: Self.seconds(CLOCK_REALTIME))
        let reading = SystemClock().now()
        let after = (boot: Self.seconds(CLOCK_BOOTTIME), wall: Self.seconds(CLOCK_REALTIME))
        #expect(reading.bootSeconds >= before.boot && reading.bootSeconds <= after.boot)
        // Other tests set the wall clock to its current time meanwhile, which may move it back a little.
        #expect(reading.wallSeconds > before.wall - 1 && reading.wallSeconds < after.wall + 1)
        let bootID = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        #expect(bootID == reading.bootID + "\n")
        #expect(SystemClock().now().bootID == reading.bootID)
    }

    @Test(.timeLimit(.minutes(20))) func `A sleep ends at its time`() async throws {
        let clock = SystemClock()
        let end = clock.now().bootSeconds + 0.05
        try await clock.sleep(untilBootSeconds: end)
        #expect(clock.now().bootSeconds >= end)
        // A sleep until a time in the past returns at once.
        try await clock.sleep(untilBootSeconds: end - 1_000)
    }

    @Test(.timeLimit(.minutes(20)), arguments: [0, .greatestFiniteMagnitude] as [Double])
    func `A cancelled sleep throws CancellationError`(end: Double) async {
        let clock = SystemClock()
        let sleep = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(untilBootSeconds: end)
        }
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
    }

    /// An actor that sleeps again and again until a time in the past, as a faulty caller might.
    private actor Sleeper {
        private var isTold = false

        func tell() { isTold = true }

        func sleepUntilTold() async throws -> Bool {
            let time = WaitingTime(within: .seconds(20))
            Task.detached { await self.tell() }
            while !isTold, !time.isOver { try await SystemClock().sleep(untilBootSeconds: 0) }
            return isTold
        }
    }

    @Test(.timeLimit(.minutes(20))) func `An actor that keeps sleeping until a past time still handles other calls`()
        async throws
    {
        #expect(try await Sleeper().sleepUntilTold())
    }

    /// This test sets the wall clock to the time that it shows, which moves it by less than a millisecond.
    @Test(.timeLimit(.minutes(20)), .enabled(if: Self.maySetClock, "setting the wall clock needs CAP_SYS_TIME"))
    func `The clock reports that someone has set the wall clock`() async {
        let changes = SystemClock().wallClockChanges()
        // The kernel reports only changes that happen while a listener waits. The task therefore keeps setting the
        // clock.
        let setting = Task {
            while !Task.isCancelled {
                Self.setClockToItself()
                try await passTime(.milliseconds(20), because: "The clock is set again after a while.")
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

    /// If the clock is set again before the listener waits again, the kernel reports the change at once, and then keeps
    /// reporting it (timerfd_create(2)).
    @Test(.timeLimit(.minutes(20)), .enabled(if: Self.maySetClock, "setting the wall clock needs CAP_SYS_TIME"))
    func `The clock keeps reporting while the wall clock is set continuously`() async {
        let changes = SystemClock().wallClockChanges()
        let isHeard = Watched(false)
        for _ in 0..<2 {
            Thread.detachNewThread { while !isHeard.read({ $0 }) { Self.setClockToItself() } }
        }
        var heard = 0
        for await _ in changes {
            heard += 1
            if heard == 500 { break }
        }
        isHeard.update { $0 = true }
        #expect(heard == 500)
    }

    private static let maySetClock: Bool = {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("CapEff:") }),
            let capabilities = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16)
        else { return false }
        // CAP_SYS_TIME, from linux/capability.h.
        return capabilities & (1 << 25) != 0
    }()

    private static func setClockToItself() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        clock_settime(CLOCK_REALTIME, &time)
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
