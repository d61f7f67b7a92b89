/// A part of the service that can have a reason to wake an app in the background.
package enum WakeSource: String, Sendable, Codable, CaseIterable {
    /// A background session of the app, with its messages.
    case session
    /// A background fetch that is due.
    case fetch
    /// A remote notification with `content-available`.
    case push
    /// A region whose boundary was crossed.
    case region
    /// A significant change of the location.
    case significantChange
    /// A processing task whose conditions are met.
    case processing
    /// A continued task: the user started it in the app, and it continues in the background.
    case continued
    /// The response of the user to one of the app's notifications: the notification itself or one of its actions.
    case response
}

/// The reason for which an app is woken in the background.
package enum WakeReason: String, Sendable, Codable, CaseIterable {
    /// The end of the last transfer of a session.
    case sessionEvents
    /// A server's request for a credential, or the question whether to trust the server.
    case challenge
    /// A delayed transfer that has reached its start time, so that the app must confirm it.
    case delayedRequest
    case fetch
    case push
    case region
    case significantChange
    case processing
    case continued
    case response

    /// Creates the only reason of the source. For sessions, which have several reasons, it creates the end of the
    /// transfers.
    package init(_ source: WakeSource) {
        switch source {
        case .session: self = .sessionEvents
        case .fetch: self = .fetch
        case .push: self = .push
        case .region: self = .region
        case .significantChange: self = .significantChange
        case .processing: self = .processing
        case .continued: self = .continued
        case .response: self = .response
        }
    }

    package var source: WakeSource {
        switch self {
        case .sessionEvents, .challenge, .delayedRequest: .session
        case .fetch: .fetch
        case .push: .push
        case .region: .region
        case .significantChange: .significantChange
        case .processing: .processing
        case .continued: .continued
        case .response: .response
        }
    }

    package var sentence: String {
        switch self {
        case .sessionEvents: "The last transfer of a session ended."
        case .challenge: "A server asked for authentication, which the app has to answer."
        case .delayedRequest: "A delayed transfer is about to begin."
        case .fetch: "A background fetch is due."
        case .push: "A remote notification arrived."
        case .region: "The boundary of a region was crossed."
        case .significantChange: "The location changed significantly."
        case .processing: "The conditions of a processing task are met."
        case .continued: "A continued task that you started in the app is running."
        case .response: "You responded to a notification of the app."
        }
    }
}
