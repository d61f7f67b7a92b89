extension DeliveryEvent {
    /// How the story of a push ends.
    package enum Fate: Sendable, Hashable {
        case delivered
        case discarded

        /// - Parameter name: of an event, as the log stores it; nil for one after which the story continues.
        package init?(name: String) {
            if name.hasPrefix("delivered") {
                self = .delivered
            } else if name.hasPrefix("discarded") {
                self = .discarded
            } else {
                return nil
            }
        }
    }

    package var fate: Fate? { Fate(name: name) }
}
