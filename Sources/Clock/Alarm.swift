import NightshiftAPI

/// The one moment at which an actor wants to be woken: setting another takes its place.
///
/// A value of the actor that owns it, and as safe as that actor's other state. It sleeps and rings on the actor where it was
/// set; it never rings by itself before its moment, never twice, and not after ``cancel()`` unless the sleep was over by then.
package struct Alarm: Sendable {
    private var pending: (moment: Double, task: Task<Void, Never>)?

    package init() {}

    /// The moment for which it is set. Stays until the owner has handled the ring and says so by ``rang(_:)``.
    package var moment: Double? { pending?.moment }

    /// Sets the alarm for a moment, or for none. Where it is set for that moment already, nothing changes.
    ///
    /// - Parameters:
    ///   - moment: seconds of whichever clock the owner counts in.
    ///   - bootSeconds: when to ring, where the owner counts in another clock than the boot clock. It may be early, as where
    ///     the machine sleeps meanwhile: the owner looks at its clock and sets the alarm again.
    ///   - ring: is given `moment`. Another moment may have been set since.
    package mutating func set(
        for moment: Double?, atBootSeconds bootSeconds: Double? = nil, by clock: any ServiceClock,
        isolation: isolated (any Actor)? = #isolation, _ ring: @escaping @Sendable (Double) async -> Void
    ) {
        guard pending?.moment != moment else { return }
        pending?.task.cancel()
        pending = nil
        guard let moment else { return }
        let task = Task {
            // Captured, so that the task runs where the alarm was set.
            _ = isolation
            guard (try? await clock.sleep(untilBootSeconds: bootSeconds ?? moment)) != nil else { return }
            await ring(moment)
        }
        pending = (moment, task)
    }

    /// The same for a moment in seconds since 1970, as the wall clock stands now: who counts so sets it anew when that is set.
    package mutating func set(
        forWallSeconds moment: Double?, by clock: any ServiceClock, isolation: isolated (any Actor)? = #isolation,
        _ ring: @escaping @Sendable (Double) async -> Void
    ) {
        let reading = clock.now()
        set(
            for: moment, atBootSeconds: moment.map { reading.bootSeconds + $0 - reading.wallSeconds }, by: clock,
            isolation: isolation, ring)
    }

    /// The owner handles the ring for `moment`. An alarm that was set for another moment meanwhile stays.
    package mutating func rang(_ moment: Double) {
        if pending?.moment == moment { pending = nil }
    }

    /// Stops the sleep. For an owner that stops, too: the same moment cannot be set again before another one was.
    package func cancel() {
        pending?.task.cancel()
    }
}
