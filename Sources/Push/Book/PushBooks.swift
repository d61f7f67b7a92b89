package import NightshiftAPI
package import Store

/// The book of pushes and the one of UnifiedPush, which share the gateway and each transaction. Times are seconds since 1970.
package struct PushBooks: Sendable {
    package var pushes: PushBook
    package var unified: UnifiedPushBook

    /// What one transaction writes of both.
    package struct Changes: Sendable {
        package var pushes: PushChanges
        package var unified: UnifiedPushChanges

        package var isEmpty: Bool { pushes.isEmpty && unified.isEmpty }
    }

    package init(now: Double) {
        pushes = PushBook(now: now)
        unified = UnifiedPushBook()
    }

    /// The books as they were kept.
    package init(
        _ pushes: PushBook, _ kept: StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>, now: Double
    ) {
        self.pushes = pushes
        unified = UnifiedPushBook(kept, isEnrolled: pushes.device.enrolment != nil, now: now)
        leaveTopics()
    }

    /// Whether the wall clock has gone on for long enough to be held against a date that a sender has set.
    package var trustsClock: Bool {
        get { pushes.trustsClock }
        set {
            pushes.trustsClock = newValue
            unified.trustsClock = newValue
        }
    }

    /// Whether something has ended by a clock that is not trusted yet.
    package func isInDoubt(_ now: Double) -> Bool { pushes.isInDoubt(now) || unified.isInDoubt(now) }

    /// When to decide again, if nothing happens before.
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

    /// The apps whose processes are told of their token now.
    package mutating func takeEffects() -> [AppID] { pushes.takeTold().sorted { $0.rawValue < $1.rawValue } }

    package mutating func notWritten(_ changes: Changes, now: Double) {
        pushes.notWritten(changes.pushes, now: now)
        unified.notWritten(changes.unified, now: now)
    }
}
