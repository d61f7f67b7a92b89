/// What becomes of a notification by the word of its app.
package enum PresentationAnswer: Hashable, Sendable {
    /// Its user does not have the app in front: it is shown, and the app is not asked.
    case notInFront
    /// The app leaves it to the service, or could not be asked, or did not answer in time.
    case asSent
    /// Bits of `UNNotificationPresentationOptions`, as ``CommandAcknowledgement/presentation`` has them; 0 for not at all.
    case options(Int)
}
