package import NightshiftAPI

/// Decides whether the events in an app's session are a reason to wake the app. This is a pure value.
///
/// The service makes this decision with one query over its rows, so that a task's end and the wake of its app are
/// always recorded together. `StoreTests` check that the query agrees with this type.
package struct SessionWake: Hashable, Sendable {
    /// Whether the session's events are allowed to wake its app.
    package var wakesApp = true
    /// The number of the last message for the app.
    package var lastMessage: Int64 = 0
    /// The number of the last message for which the app was woken.
    package var wokenThrough: Int64 = 0
    /// The number of tasks that have not ended and that the app has not suspended.
    package var unfinished = 0
    /// Whether the messages include an authentication challenge.
    package var hasChallenge = false
    /// Whether the messages include the question of a delayed task whether it should still begin.
    package var hasDelayedRequest = false

    package init() {}

    /// The reason to wake the app; nil if there is no reason.
    package var reason: WakeReason? {
        guard wakesApp, lastMessage > wokenThrough else { return nil }
        if hasChallenge { return .challenge }
        if hasDelayedRequest { return .delayedRequest }
        return unfinished == 0 ? .sessionEvents : nil
    }
}
