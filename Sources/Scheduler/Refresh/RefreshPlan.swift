package import NightshiftAPI

/// What the planner wants at one moment.
package struct RefreshPlan: Hashable, Sendable {
    /// Whom to wake for a fetch now. They count as fetching from now on; ``RefreshPlanner/fetchEnded(_:_:took:now:)`` ends that.
    package internal(set) var wake: [AppID] = []
    /// Seconds since 1970 at which to plan again where the device is awake then and nothing happens before; nil where only an event
    /// changes anything. Nobody is to be woken then for certain: a device that sleeps is left alone until ``wakeDevice``.
    package internal(set) var lookAgain: Double?
    /// Seconds since 1970 at which to wake the device and plan again, if it sleeps and nothing happens before;
    /// nil while it is in use, since its being left is told.
    package internal(set) var wakeDevice: Double?
    /// Why each other app is not fetched for.
    package internal(set) var holds: [AppID: Held] = [:]

    package init() {}

    package struct Held: Hashable, Sendable {
        package var reason: RefreshHold
        /// Seconds since 1970 at which the planner expects to fetch for it, or the reason to end; nil where it does not know.
        package var until: Double?
        /// Seconds since 1970: where its window opens and closes, if one is planned.
        package var window: ClosedRange<Double>?
    }

    mutating func look(at time: Double?, after now: Double) {
        guard let time, time < .infinity else { return }
        // Never at once: something has to have changed.
        let next = max(time, now + 1)
        lookAgain = min(lookAgain ?? next, next)
    }
}
