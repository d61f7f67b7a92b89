package import Foundation

/// A reading of all clocks of the machine at one time.
package struct ClockReading: Hashable, Sendable {
    /// The id of the current boot. It changes with every boot.
    package var bootID: String
    /// The number of seconds since boot, including time asleep. Timeouts and pauses are measured on this clock.
    package var bootSeconds: Double
    /// The number of seconds since boot, excluding time asleep. The limits of an app, its background time and
    /// connection checks are measured on this clock.
    package var awakeSeconds: Double
    /// The number of seconds since 1970, by the wall clock, which may be set at any time.
    package var wallSeconds: Double

    /// Creates a reading.
    ///
    /// - Parameter awakeSeconds: The awake time. If it is nil, the machine never slept, and the value is `bootSeconds`.
    package init(bootID: String, bootSeconds: Double, awakeSeconds: Double? = nil, wallSeconds: Double) {
        self.bootID = bootID
        self.bootSeconds = bootSeconds
        self.awakeSeconds = awakeSeconds ?? bootSeconds
        self.wallSeconds = wallSeconds
    }

    /// Returns the number of seconds to add to a boot time so that it means the same time on the current boot clock.
    /// The boot time must have been recorded at or before `earlier`.
    ///
    /// The result is 0 within one boot. After a reboot, only the wall clock shows how long the machine was off. If the
    /// wall clock is earlier than at the last reading, that time counts as 0.
    package func shift(from earlier: ClockReading) -> Double {
        guard bootID != earlier.bootID else { return 0 }
        let passed = max(0, wallSeconds - earlier.wallSeconds)
        return bootSeconds - (earlier.bootSeconds + passed)
    }

    /// Returns the number of seconds like ``shift(from:)``, but counts only the time until `earlier` and the time since
    /// the current boot.
    ///
    /// Deadlines that end or delete something are shifted in this way, because the wall clock may be wrong by any
    /// amount after a reboot.
    package func seenShift(from earlier: ClockReading) -> Double {
        bootID == earlier.bootID ? 0 : -earlier.bootSeconds
    }
}

extension ClockReading {
    package var date: Date { Self.date(wallSeconds: wallSeconds) }

    package static func date(wallSeconds: Double) -> Date { Date(timeIntervalSince1970: wallSeconds) }

    /// Returns the wall-clock time of a time on the boot clock, by the current setting of the wall clock.
    package func wallTime(ofBootSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - bootSeconds)
    }

    /// Returns the wall-clock time of a time on the awake clock, provided that the machine does not sleep before then.
    package func wallTime(ofAwakeSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - awakeSeconds)
    }
}
