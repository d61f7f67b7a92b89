/// What a probe does with remote notifications and its own.
package struct NotificationOrder: Sendable, Codable {
    /// Whether it registers for remote notifications at every launch.
    package var registers = false
    /// Where it gives its token back.
    package var unregisters: Point?
    /// What it does with what comes.
    package var fetch = FetchOrder()
    /// Whether it has a delegate of the notification center from its launch on.
    package var hasDelegate = false
    /// What that lets be shown while it is in front: bits of `UNNotificationPresentationOptions`. Nil: it never says.
    package var presentation: Int? = 16
    /// It says so once this file is there.
    package var presentationGate: String?
    /// Whether it completes responses.
    package var completesResponses = true
    /// Whether it asks for permission at every launch, and provisional one.
    package var asks = false
    package var isProvisional = false
    /// The identifiers of the actions of its category ``category``; those that end in `!` bring it to the front.
    package var actions: [String] = []
    /// Those that it shows itself.
    package var own: [Own] = []

    package static let category = "probe"

    package struct Own: Sendable, Codable {
        package var identifier: String
        package var title: String
        /// Where it is added.
        package var point: Point
        /// Seconds from then on; nil for at once.
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
