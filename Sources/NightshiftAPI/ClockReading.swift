package import Foundation

/// One reading of all clocks of the machine.
package struct ClockReading: Hashable, Sendable {
    /// An id that changes with every boot.
    package var bootID: String
    /// Seconds since boot, including time asleep. Timeouts and pauses are measured on this clock.
    package var bootSeconds: Double
    /// Seconds since boot, without time asleep. The limits of an app and its background time are measured on this
    /// clock.
    package var awakeSeconds: Double
    /// Seconds since 1970, by a wall clock that may be set at any time.
    package var wallSeconds: Double

    /// - Parameter awakeSeconds: nil if the machine never slept; the value is then `bootSeconds`.
    package init(bootID: String, bootSeconds: Double, awakeSeconds: Double? = nil, wallSeconds: Double) {
        self.bootID = bootID
        self.bootSeconds = bootSeconds
        self.awakeSeconds = awakeSeconds ?? bootSeconds
        self.wallSeconds = wallSeconds
    }

    /// The number of seconds to add to a boot time recorded at or before `earlier`, so that it means the same moment
    /// now.
    ///
    /// The result is 0 within one boot. After a reboot, only the wall clock shows how long the machine was off. If the
    /// wall clock is earlier than at the last reading, that time counts as 0.
    package func shift(from earlier: ClockReading) -> Double {
        guard bootID != earlier.bootID else { return 0 }
        let passed = max(0, wallSeconds - earlier.wallSeconds)
        return bootSeconds - (earlier.bootSeconds + passed)
    }

    /// Like ``shift(from:)``, but counts only time that this service observed: up to `earlier`, and since the present
    /// boot.
    ///
    /// Deadlines that end or delete something are shifted this way, because the wall clock may be wrong by any amount
    /// after a reboot.
    package func seenShift(from earlier: ClockReading) -> Double {
        bootID == earlier.bootID ? 0 : -earlier.bootSeconds
    }
}

extension ClockReading {
    package var date: Date { Self.date(wallSeconds: wallSeconds) }

    package static func date(wallSeconds: Double) -> Date { Date(timeIntervalSince1970: wallSeconds) }

    /// The wall-clock time, as the wall clock runs now, of a moment on the boot clock.
    package func wallTime(ofBootSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - bootSeconds)
    }

    /// The wall-clock time of a moment on the awake clock, provided that the machine does not sleep before then.
    package func wallTime(ofAwakeSeconds moment: Double) -> Date {
        Date(timeIntervalSince1970: wallSeconds + moment - awakeSeconds)
    }
}
