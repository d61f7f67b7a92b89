package import NightshiftAPI

/// Decides which of everything that keeps a task from running is told as what it waits for.
///
/// Pure. What ends latest, or what the task cannot do without, comes before what it shares with others: trouble of the
/// service itself, its own question, its own pause, its begin date, the moment, and only then its place in the queue.
package enum WaitOrder {
    /// What is known of one task that waits.
    package struct Facts: Hashable, Sendable {
        /// Boot seconds until which nothing is begun because the store cannot be written.
        package var storePausedUntil: Double?
        /// Whether its app was asked something and has not answered.
        package var isAsked = false
        /// The end of its own pause in boot seconds, where the reason of that is written down.
        package var notBefore: Double?
        /// Seconds since 1970 before which it is not to begin.
        package var beginAt: Double?
        package var needs: HeldClass
        /// Boot seconds until which another task is tried alone.
        package var trialUntil: Double?
        /// Whether the way to its origin is closed, or one transfer has to probe it.
        package var isHostPaused = false

        package init(needs: HeldClass) {
            self.needs = needs
        }
    }

    /// The reason that is named first of all that keep a task from running.
    package enum Cause: Hashable, Sendable {
        case store(until: Double)
        case question
        /// Its own pause, whose reason is written down.
        case pause
        /// In seconds since 1970.
        case beginDate(Double)
        case moment(WaitReason)
        case sleeping
        case trial(until: Double)
        case host
        /// Nothing but its place in the queue: ``Admission/reason(isLarge:hasFailed:lane:places:smallWaitsElsewhere:othersFirst:)``.
        case queue
    }

    package static func cause(_ facts: Facts, _ moment: DeviceMoment, _ now: ClockReading) -> Cause {
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
