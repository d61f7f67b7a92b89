package import NightshiftAPI

/// What the stream of one session carries.
package enum SessionEvent: Hashable, Sendable {
    case message(SessionMessage)
    case progress(TaskProgress)
    /// Every message up to this one that is still kept has been sent: the backlog is through.
    case caughtUp(Int64)
}
