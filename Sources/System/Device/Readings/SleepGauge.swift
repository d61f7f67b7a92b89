/// A detector of sleep by two clocks. It also detects a sleep that was not announced, for example after a write to
/// /sys/power/state.
///
/// A pure value: the inputs are the seconds of a clock that continues during sleep, and of a clock that does not.
struct SleepGauge {
    /// The largest difference so far between the first clock and the second.
    private var ahead: Double?

    /// The number of seconds above which a sleep counts. Connections survive a shorter sleep.
    static let least = 1.0

    /// Returns whether the machine has slept since the last call. `boot` must be read before `awake`, so that a delay
    /// between the two readings makes the sleep look shorter, never longer.
    mutating func hasSlept(boot: Double, awake: Double) -> Bool {
        let now = boot - awake
        guard let before = ahead else {
            ahead = now
            return false
        }
        ahead = max(before, now)
        return now - before > Self.least
    }
}
