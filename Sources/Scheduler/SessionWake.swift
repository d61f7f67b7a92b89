package import NightshiftAPI

/// Decides whether what happened in a session of an app is a reason to wake the app.
///
/// Pure. The service decides this by one query over its rows, so that "it has ended" and "wake its app" cannot come apart;
/// `StoreTests` hold that query and this value together.
package struct SessionWake: Hashable, Sendable {
    /// Whether the session's events wake its app at all.
    package var wakesApp = true
    /// The number of the last message for the app.
    package var lastMessage: Int64 = 0
    /// The number of the last message that the app was woken for.
    package var wokenThrough: Int64 = 0
    /// Tasks that have not ended and that the app has not suspended.
    package var unfinished = 0
    /// Whether a server's question is among the messages.
    package var hasChallenge = false
    /// Whether a task wants to know whether it is still to begin.
    package var hasDelayedRequest = false

    package init() {}

    /// Why the app is to be woken; nil where it is not.
    package var reason: WakeReason? {
        guard wakesApp, lastMessage > wokenThrough else { return nil }
        if hasChallenge { return .challenge }
        if hasDelayedRequest { return .delayedRequest }
        return unfinished == 0 ? .sessionEvents : nil
    }
}
