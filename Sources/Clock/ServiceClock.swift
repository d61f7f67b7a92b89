package import NightshiftAPI

/// The seam to time: what the clocks say, and waiting for them.
package protocol ServiceClock: Sendable {
    func now() -> ClockReading

    /// Returns at `bootSeconds`, or throws when the task is cancelled.
    func sleep(untilBootSeconds bootSeconds: Double) async throws

    /// One value each time the wall clock is set.
    func wallClockChanges() -> AsyncStream<Void>
}
