package import NightshiftAPI
package import Store

/// The states of pushes and of UnifiedPush, which share the gateway and each transaction. Times are seconds since 1970.
package struct PushBooks: Sendable {
    package var pushes: PushBook
    package var unified: UnifiedPushBook

    /// The changes of both states that one transaction writes.
    package struct Changes: Sendable {
        package var pushes: PushChanges
        package var unified: UnifiedPushChanges

        package var isEmpty: Bool { pushes.isEmpty && unified.isEmpty }
    }

    package init(now: Double) {
        pushes = PushBook(now: now)
        unified = UnifiedPushBook()
    }

    /// Restores the stored states.
    package init(
        _ pushes: PushBook, _ kept: StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>, now: Double
    ) {
        self.pushes = pushes
        unified = UnifiedPushBook(kept, isEnrolled: pushes.device.enrolment != nil, now: now)
        leaveTopics()
    }

    /// Whether the wall clock has run for long enough since it was last set. Only then are expiration dates of senders
    /// checked.
    package var trustsClock: Bool {
        get { pushes.trustsClock }
        set {
            pushes.trustsClock = newValue
            unified.trustsClock = newValue
        }
    }

    /// Whether something may have expired, by a clock that is not trusted yet.
    package func isInDoubt(_ now: Double) -> Bool { pushes.isInDoubt(now) || unified.isInDoubt(now) }

    /// The time of the next decision, unless an event comes before.
    package var nextLook: Double? { [pushes.nextLook, unified.nextLook].compactMap(\.self).min() }

    package mutating func look(_ now: Double) {
        unified.look(now)
        leaveTopics()
        pushes.look(now)
    }

    private mutating func leaveTopics() {
        for topic in unified.takeLeft() { pushes.leave(topic) }
    }

    package mutating func takeChanges() -> Changes {
        Changes(pushes: pushes.takeChanges(), unified: unified.takeChanges())
    }

    /// Takes the apps whose processes get a notice about their token now.
    package mutating func takeEffects() -> [AppID] { pushes.takeTold().sorted { $0.rawValue < $1.rawValue } }

    package mutating func notWritten(_ changes: Changes, now: Double) {
        pushes.notWritten(changes.pushes, now: now)
        unified.notWritten(changes.unified, now: now)
    }
}
