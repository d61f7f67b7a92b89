/// An order about remote notifications and the probe's own notifications.
package struct NotificationOrder: Sendable, Codable {
    /// Whether the probe registers for remote notifications at every launch.
    package var registers = false
    /// The point at which the probe unregisters.
    package var unregisters: Point?
    /// The order about how the probe handles remote notifications.
    package var fetch = FetchOrder()
    /// Whether the notification center has a delegate as soon as the app is launched.
    package var hasDelegate = false
    /// The presentation options in the foreground, as bits of `UNNotificationPresentationOptions`. Nil means that the
    /// delegate never answers.
    package var presentation: Int? = 16
    /// A file whose existence the answer about the presentation waits for.
    package var presentationGate: String?
    /// Whether the probe completes responses.
    package var completesResponses = true
    /// Whether the probe requests permission at every launch. ``isProvisional`` says whether the permission is
    /// provisional.
    package var asks = false
    package var isProvisional = false
    /// The identifiers of the actions of the category ``category``. Actions whose identifier ends in `!` bring the
    /// probe to the foreground.
    package var actions: [String] = []
    /// The probe's own notifications.
    package var own: [Own] = []

    package static let category = "probe"

    package struct Own: Sendable, Codable {
        package var identifier: String
        package var title: String
        /// The point at which the notification is added.
        package var point: Point
        /// The delay in seconds after this point. Nil means immediately.
        package var delay: Double?
        package var badge: Int?

        package init(_ identifier: String, title: String, at point: Point) {
            self.identifier = identifier
            self.title = title
            self.point = point
        }
    }

    package init() {}
}
