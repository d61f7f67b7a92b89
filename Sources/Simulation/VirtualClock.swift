import NightshiftAPI

/// The clocks of a machine that exists in a trace alone.
struct VirtualClock {
    /// Seconds from the trace's beginning, time asleep included.
    private(set) var bootSeconds = 0.0
    private var asleepSeconds = 0.0
    /// Seconds since 1970 at the trace's beginning.
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

    /// The boot seconds of a moment of the awake clock, provided that the machine does not sleep before.
    ///
    /// Up to a microsecond late, and never early: a sleeper that is woken for a moment finds that it has come.
    func bootTime(ofAwakeSeconds moment: Double) -> Double {
        let time = max(bootSeconds, ((moment + asleepSeconds) * 1e6).rounded(.up) / 1e6)
        return time - asleepSeconds >= moment ? time : time + 1e-6
    }

    /// Work takes whole milliseconds: sums of times stay what they look like.
    static func milliseconds(_ seconds: Double) -> Double { (seconds * 1_000).rounded() / 1_000 }
}
