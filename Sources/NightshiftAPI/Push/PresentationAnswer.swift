/// What an app says of a notification that comes while it may be in front of its user.
package enum PresentationAnswer: Hashable, Sendable {
    /// It is not in front: its notifications are shown as sent.
    case notInFront
    /// It is in front and has nothing to say, or no delegate to say it: shown as sent.
    case asSent
    /// The value of `UNNotificationPresentationOptions`; 0 for not at all.
    case options(Int)
}
