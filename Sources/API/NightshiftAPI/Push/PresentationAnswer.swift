/// The app's decision about how to show one of its notifications.
package enum PresentationAnswer: Hashable, Sendable {
    /// The answer for an app that is not in the foreground. The notification is shown without asking the app.
    case notInFront
    /// The answer of an app that made no decision: it left the decision to the service, could not be asked, or did not
    /// answer in time.
    case asSent
    /// The sum of the chosen bits of `UNNotificationPresentationOptions`, as in
    /// ``CommandAcknowledgement/presentation``. With 0, nothing is shown.
    case options(Int)
}
