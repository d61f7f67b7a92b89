package import Foundation

/// One look at the clocks of the machine.
package struct ClockReading: Hashable, Sendable {
    /// Differs after every boot.
    package var bootID: String
    /// Seconds since boot, time asleep included: what timeouts and pauses count in.
    package var bootSeconds: Double
    /// Seconds since boot without time asleep: what an app's limits and its background time count in.
    package var awakeSeconds: Double
    /// Seconds since 1970, by a wall clock that may be set at any time.
    package var wallSeconds: Double

    /// - Parameter awakeSeconds: as many as `bootSeconds` where the machine never slept.
    package init(bootID: String, bootSeconds: Double, awakeSeconds: Double? = nil, wallSeconds: Double) {
        self.bootID = bootID
        self.bootSeconds = bootSeconds
        self.awakeSeconds = awakeSeconds ?? bootSeconds
        self.wallSeconds = wallSeconds
    }

    /// What to add to boot seconds noted at or before `earlier` so that they mean the same moment now.
    ///
    /// 0 within one boot. After a reboot the time the machine was off is known from the wall clock alone; one that runs
    /// behind the last reading counts as no time at all.
    package func shift(from earlier: ClockReading) -> Double {
        guard bootID != earlier.bootID else { return 0 }
        let passed = max(0, wallSeconds - earlier.wallSeconds)
        return bootSeconds - (earlier.bootSeconds + passed)
    }

    /// The same, counting only time that was seen to pass: up to `earlier`, and since the present boot.
    ///
    /// Deadlines that end or delete something are counted so: after a reboot the wall clock may be wrong by any amount.
    package func seenShift(from earlier: ClockReading) -> Double {
        bootID == earlier.bootID ? 0 : -earlier.bootSeconds
    }
}

extension ClockReading {
    package var date: Date { Self.date(wallSeconds: wallSeconds) }

    package static func date(wallSeconds: Double) -> Date { Date(timeIntervalSince1970: wallSeconds) }

    /// What the wall clock, as it goes now, shows at a moment of the boot clock.
    package func wallTime(ofBootSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - bootSeconds)
    }

    /// The same for a moment of the awake clock, provided that the machine does not sleep before.
    package func wallTime(ofAwakeSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - awakeSeconds)
    }
}
