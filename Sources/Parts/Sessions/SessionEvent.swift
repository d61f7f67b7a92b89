package import NightshiftAPI

/// An event in the stream of one session.
package enum SessionEvent: Hashable, Sendable {
    case message(SessionMessage)
    case progress(TaskProgress)
    /// An event that reports that every stored message up to this one has been sent.
    case caughtUp(Int64)
}
