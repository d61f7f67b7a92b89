import NightshiftAPI

/// The clocks of the simulated machine.
struct VirtualClock {
    /// The number of seconds from the start of the trace, including sleep.
    private(set) var bootSeconds = 0.0
    private var asleepSeconds = 0.0
    /// The start of the trace in seconds since 1970.
    let start: Double

    init(start: Double) {
        self.start = start
    }

    var awakeSeconds: Double { bootSeconds - asleepSeconds }

    var reading: ClockReading {
        ClockReading(
            bootID: "trace", bootSeconds: bootSeconds, awakeSeconds: awakeSeconds, wallSeconds: start + bootSeconds)
    }

    mutating func advance(to time: Double, isAsleep: Bool) {
        if isAsleep { asleepSeconds += time - bootSeconds }
        bootSeconds = time
    }

    /// Returns the boot time for a time of the awake clock, if the machine does not sleep before that.
    ///
    /// The result is up to a microsecond late and never early. At this boot time, the awake clock has therefore reached
    /// the time.
    func bootTime(ofAwakeSeconds moment: Double) -> Double {
        let time = max(bootSeconds, ((moment + asleepSeconds) * 1e6).rounded(.up) / 1e6)
        return time - asleepSeconds >= moment ? time : time + 1e-6
    }

    /// Rounds to whole milliseconds, so that sums of times stay readable.
    static func milliseconds(_ seconds: Double) -> Double { (seconds * 1_000).rounded() / 1_000 }
}
