package import NightshiftAPI

/// Decides which reason is reported if several reasons keep a task from running. This is a pure function.
///
/// The order is: failures of the store, a question to the app, the task's own pause, its begin date, the device state,
/// and finally its turn in the queue. Reasons that last longest, or that only this task has, come before reasons that
/// the task shares with other tasks.
package enum WaitOrder {
    /// The state of one waiting task.
    package struct Facts: Hashable, Sendable {
        /// The time in boot seconds until which tasks do not begin because the store cannot be written.
        package var storePausedUntil: Double?
        /// Whether the app has not yet answered a question about the task.
        package var isAsked = false
        /// The end of the task's pause in boot seconds, if its reason was recorded.
        package var notBefore: Double?
        /// The earliest start in seconds since 1970.
        package var beginAt: Double?
        package var needs: RequirementClass
        /// The time in boot seconds until which another task is retried in isolation.
        package var trialUntil: Double?
        /// Whether the route to the origin is paused, or one transfer has to probe the route.
        package var isHostPaused = false

        package init(needs: RequirementClass) {
            self.needs = needs
        }
    }

    /// The reason that is reported for a waiting task.
    package enum Cause: Hashable, Sendable {
        case store(until: Double)
        case question
        /// The task is paused, for a reason that was recorded.
        case pause
        /// The begin date, in seconds since 1970, has not been reached.
        case beginDate(Double)
        case moment(WaitReason)
        case sleeping
        case trial(until: Double)
        case host
        /// The task waits only for its turn in the queue:
        /// ``Admission/reason(isLarge:hasFailed:lane:places:smallWaitsElsewhere:othersFirst:)``.
        case queue
    }

    package static func cause(_ facts: Facts, _ moment: DeviceState, _ now: ClockReading) -> Cause {
        if let until = facts.storePausedUntil, until > now.bootSeconds { return .store(until: until) }
        if facts.isAsked { return .question }
        if let notBefore = facts.notBefore, notBefore > now.bootSeconds { return .pause }
        if let beginAt = facts.beginAt, beginAt > now.wallSeconds { return .beginDate(beginAt) }
        if let reason = facts.needs.hold(moment) { return .moment(reason) }
        if moment.conditions.isSleeping { return .sleeping }
        if let until = facts.trialUntil { return .trial(until: until) }
        return facts.isHostPaused ? .host : .queue
    }
}
