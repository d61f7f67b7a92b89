/// The app's decision about one of its notifications.
package enum PresentationAnswer: Hashable, Sendable {
    /// The app is not in the foreground. The notification is shown without asking the app.
    case notInFront
    /// The app left the decision to the service, could not be asked, or did not answer in time.
    case asSent
    /// Bits of `UNNotificationPresentationOptions`, as in ``CommandAcknowledgement/presentation``; 0 to show nothing.
    case options(Int)
}
