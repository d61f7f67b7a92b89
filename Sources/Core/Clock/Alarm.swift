import NightshiftAPI

/// The next wake-up time of an actor. Setting another time replaces the previous one.
///
/// An alarm is a value of the actor that owns it, and has the same isolation as the actor's other state. It sleeps and
/// fires on the actor where it was set. It never fires before the boot time that was given to it, and never fires
/// twice. After ``cancel()``, it fires only if its sleep was already over.
package struct Alarm: Sendable {
    private var pending: (moment: Double, task: Task<Void, Never>)?

    package init() {}

    /// The time for which the alarm is set. It remains set until the owner has handled it and calls ``rang(_:)``.
    package var moment: Double? { pending?.moment }

    /// Sets the alarm for a time, or clears it. Does nothing if the alarm is already set for that time.
    ///
    /// - Parameters:
    ///   - moment: the time in seconds of the owner's clock; nil clears the alarm.
    ///   - bootSeconds: the boot time at which to fire, if the owner's clock is not the boot clock. The owner's clock
    ///     may not have reached `moment` by then, for example because the machine slept in between. The owner then
    ///     sets the alarm again.
    ///   - ring: a closure that is called with `moment` when the alarm fires. The alarm may have been set for another
    ///     time since.
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

    /// Sets the alarm for a time in seconds since 1970, based on the current wall clock. If the wall clock is changed,
    /// the owner must set the alarm again.
    package mutating func set(
        forWallSeconds moment: Double?, by clock: any ServiceClock, isolation: isolated (any Actor)? = #isolation,
        _ ring: @escaping @Sendable (Double) async -> Void
    ) {
        let reading = clock.now()
        set(
            for: moment, atBootSeconds: moment.map { reading.bootSeconds + $0 - reading.wallSeconds }, by: clock,
            isolation: isolation, ring)
    }

    /// Records that the owner handles the alarm for `moment`. If the alarm has since been set for another time, it
    /// remains set.
    package mutating func rang(_ moment: Double) {
        if pending?.moment == moment { pending = nil }
    }

    /// Cancels the sleep, because the owner stops. The alarm cannot be set for the same time again before it was set
    /// for another time.
    package func cancel() {
        pending?.task.cancel()
    }
}
