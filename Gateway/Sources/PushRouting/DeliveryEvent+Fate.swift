extension DeliveryEvent {
    /// The final outcome of a push.
    package enum Fate: Sendable, Hashable {
        case delivered
        case discarded

        /// - Parameter name: the name of an event, as the log stores it. The result is nil if the event is not final.
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
