package import NightshiftAPI

/// The clocks of the service. Tests and simulations replace them.
package protocol ServiceClock: Sendable {
    func now() -> ClockReading

    /// Sleeps until `bootSeconds`. Throws if the task is cancelled.
    func sleep(untilBootSeconds bootSeconds: Double) async throws

    /// Returns a stream that has one value for each change of the wall clock.
    func wallClockChanges() -> AsyncStream<Void>
}
