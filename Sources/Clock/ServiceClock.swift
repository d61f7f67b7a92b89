package import NightshiftAPI

/// An abstraction of time: readings of the clocks, and waiting.
package protocol ServiceClock: Sendable {
    func now() -> ClockReading

    /// Returns at `bootSeconds`, or throws when the task is cancelled.
    func sleep(untilBootSeconds bootSeconds: Double) async throws

    /// Returns a stream with one value for each change of the wall clock.
    func wallClockChanges() -> AsyncStream<Void>
}
