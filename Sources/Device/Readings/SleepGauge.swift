/// Finds by the clocks that the machine has slept: also where nobody announces it, as when something writes to
/// /sys/power/state by itself.
///
/// Pure: it is given the seconds of a clock that goes on during sleep, and those of one that does not.
struct SleepGauge {
    /// The most that the one clock was ahead of the other.
    private var ahead: Double?

    /// Seconds of sleep that count. Connections outlive less.
    static let least = 1.0

    /// Whether the machine has slept since the last call. `boot` is to be read before `awake`: a thread that is held up in
    /// between then finds less sleep, and never more.
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
