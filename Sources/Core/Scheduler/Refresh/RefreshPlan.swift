package import NightshiftAPI

/// The planner's decision at one time.
package struct RefreshPlan: Hashable, Sendable {
    /// The apps to wake for a fetch now. The fetch of each app lasts until
    /// ``RefreshPlanner/fetchEnded(_:_:took:now:)``.
    package internal(set) var wake: [AppID] = []
    /// The time in seconds since 1970 of the next planning, if the device is awake then and no event happens before;
    /// nil if only an event changes the plan. The next planning may wake no app, so a sleeping device is not woken
    /// before ``wakeDevice``.
    package internal(set) var lookAgain: Double?
    /// The time in seconds since 1970 at which to wake a sleeping device and plan again, unless an event happens
    /// before. Nil while the device is in use, because the end of its use is an event.
    package internal(set) var wakeDevice: Double?
    /// The reason why a fetch does not begin, for each other app.
    package internal(set) var holds: [AppID: Held] = [:]

    package init() {}

    package struct Held: Hashable, Sendable {
        package var reason: RefreshHold
        /// The expected time in seconds since 1970 of the next fetch, or of the end of the reason that prevents it; nil
        /// if unknown.
        package var until: Double?
        /// The planned fetch window in seconds since 1970; nil if none is planned.
        package var window: ClosedRange<Double>?
    }

    mutating func look(at time: Double?, after now: Double) {
        guard let time, time < .infinity else { return }
        // The next planning is at least a second later, because a condition has to change first.
        let next = max(time, now + 1)
        lookAgain = min(lookAgain ?? next, next)
    }
}
