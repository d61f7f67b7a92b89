import NightshiftAPI

/// The next wake-up time of an actor. Setting another time replaces it.
///
/// A value of the actor that owns it, with the same isolation as the actor's other state. It sleeps and fires on the
/// actor where it was set. It never fires before its time or twice. After ``cancel()``, it fires only if the sleep was
/// already over.
package struct Alarm: Sendable {
    private var pending: (moment: Double, task: Task<Void, Never>)?

    package init() {}

    /// The time for which the alarm is set. It stays until the owner has handled it and calls ``rang(_:)``.
    package var moment: Double? { pending?.moment }

    /// Sets the alarm for a time, or clears it. If it is already set for that time, nothing changes.
    ///
    /// - Parameters:
    ///   - moment: seconds of the owner's clock.
    ///   - bootSeconds: the boot time at which to fire, if the owner's clock is not the boot clock. It may be early,
    ///     for example if the machine sleeps meanwhile. The owner then reads its clock and sets the alarm again.
    ///   - ring: called with `moment`. Another time may have been set since.
    package mutating func set(
        for moment: Double?, atBootSeconds bootSeconds: Double? = nil, by clock: any ServiceClock,
        isolation: isolated (any Actor)? = #isolation, _ ring: @escaping @Sendable (Double) async -> Void
    ) {
        guard pending?.moment != moment else { return }
        pending?.task.cancel()
        pending = nil
        guard let moment else { return }
        let task = Task {
            // The isolation is captured so that the task runs on the actor where the alarm was set.
            _ = isolation
            guard (try? await clock.sleep(untilBootSeconds: bootSeconds ?? moment)) != nil else { return }
            await ring(moment)
        }
        pending = (moment, task)
    }

    /// Sets the alarm for a time in seconds since 1970, based on the current wall clock. The owner sets it again when
    /// the wall clock is changed.
    package mutating func set(
        forWallSeconds moment: Double?, by clock: any ServiceClock, isolation: isolated (any Actor)? = #isolation,
        _ ring: @escaping @Sendable (Double) async -> Void
    ) {
        let reading = clock.now()
        set(
            for: moment, atBootSeconds: moment.map { reading.bootSeconds + $0 - reading.wallSeconds }, by: clock,
            isolation: isolation, ring)
    }

    /// Records that the owner handles the alarm for `moment`. An alarm that was meanwhile set for another time stays.
    package mutating func rang(_ moment: Double) {
        if pending?.moment == moment { pending = nil }
    }

    /// Cancels the sleep. This is for an owner that stops: the same time cannot be set again before another one was
    /// set.
    package func cancel() {
        pending?.task.cancel()
    }
}
