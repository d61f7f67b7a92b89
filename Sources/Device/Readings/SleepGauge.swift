/// Detects from the clocks that the machine has slept, even if the sleep was not announced, for example after a write
/// to /sys/power/state.
///
/// Pure: inputs are the seconds of a clock that continues during sleep, and of one that does not.
struct SleepGauge {
    /// The maximum lead of the first clock over the second so far.
    private var ahead: Double?

    /// Seconds of sleep that count. Connections survive a shorter sleep.
    static let least = 1.0

    /// Whether the machine has slept since the last call. `boot` must be read before `awake`, so that a delay between
    /// the two makes the sleep look shorter, never longer.
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
