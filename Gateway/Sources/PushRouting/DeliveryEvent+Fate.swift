extension DeliveryEvent {
    /// The final outcome of a push.
    package enum Fate: Sendable, Hashable {
        case delivered
        case discarded

        /// Creates the outcome from the name of an event. The result is nil if the event is not final.
        ///
        /// - Parameter name: the name of the event, as the log stores it.
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
