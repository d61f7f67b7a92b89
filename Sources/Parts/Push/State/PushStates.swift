package import NightshiftAPI
package import Runtime
package import Store

/// The states of remote notifications and of UnifiedPush. They share the connection to the gateway and each
/// transaction. Times are seconds since 1970.
package struct PushStates: PartState {
    package var pushes: PushState
    package var unified: UnifiedPushState

    /// The changes of both states that one transaction writes.
    package struct Changes: Sendable {
        package var pushes: PushChanges
        package var unified: UnifiedPushChanges

        package var isEmpty: Bool { pushes.isEmpty && unified.isEmpty }
    }

    package init(now: Double) {
        pushes = PushState(now: now)
        unified = UnifiedPushState()
    }

    /// Restores the stored states. ``begin(_:ends:wanted:unreadable:now:)`` must follow.
    package init(
        _ pushes: StoredPushes<PushApp, PushDevice, KnownPush>,
        _ unified: StoredUnifiedPush<UnifiedPushRegistration, UnifiedPushMessage>, now: Double
    ) {
        self.pushes = PushState(pushes, now: now)
        self.unified = UnifiedPushState(unified, isEnrolled: self.pushes.device.enrolment != nil)
    }

    /// Applies the start of the service. See ``PushState/begin(_:ends:wanted:unreadable:now:)``.
    package mutating func begin(
        _ installed: [AppManifest], ends: [PushEnd], wanted: Set<String>, unreadable: [String] = [], now: Double
    ) {
        pushes.begin(installed, ends: ends, wanted: wanted, unreadable: unreadable, now: now)
        unified.begin(now: now)
        leaveTopics()
    }

    /// Whether the wall clock has run long enough since it was last set. Expiration dates from senders are checked only
    /// then.
    package var trustsClock: Bool {
        get { pushes.trustsClock }
        set {
            pushes.trustsClock = newValue
            unified.trustsClock = newValue
        }
    }

    /// Returns whether a push or message has expired according to a clock that is not trusted yet.
    package func isInDoubt(_ now: Double) -> Bool { pushes.isInDoubt(now) || unified.isInDoubt(now) }

    /// The time of the next decision, if no event occurs earlier.
    package var nextDeadline: Double? { [pushes.nextDeadline, unified.nextDeadline].compactMap(\.self).min() }

    package mutating func decide(at now: Double) {
        unified.decide(at: now)
        leaveTopics()
        pushes.decide(at: now)
    }

    private mutating func leaveTopics() {
        for topic in unified.takeLeft() { pushes.leave(topic) }
    }

    package var nextDecision: DecisionTime? { nextDeadline.map { .wallSeconds($0) } }

    package func changes(since durable: Self) -> Changes {
        Changes(
            pushes: pushes.changes(since: durable.pushes), unified: unified.changes(since: durable.unified))
    }

    package mutating func wrote(_ copy: Self) {
        pushes.wrote(copy.pushes)
        unified.wrote(copy.unified)
    }

    package mutating func becomeDurable() {
        pushes.becomeDurable()
        unified.becomeDurable()
    }

    /// Returns the apps whose processes now get a notice about their token, and clears the list.
    package mutating func takeEffects() -> [AppID] { pushes.takeTold().sorted { $0.rawValue < $1.rawValue } }
}
