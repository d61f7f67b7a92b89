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
package enum WakeReason: String, Sendable, Codable, CaseIterable, Worded {
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

    /// Creates the first reason of the source, which is its only one for all sources but sessions.
    package init(_ source: WakeSource) {
        self = Self.allCases.first { $0.source == source } ?? .sessionEvents
    }

    package var source: WakeSource { row.source }

    package var wording: Wording { Wording(short: row.short, sentence: row.sentence) }

    private var row: (source: WakeSource, short: String, sentence: String) {
        switch self {
        case .sessionEvents: (.session, "events of a session", "The last transfer of a session ended.")
        case .challenge:
            (.session, "an authentication challenge", "A server asked for authentication, which the app has to answer.")
        case .delayedRequest: (.session, "a delayed transfer", "A delayed transfer is about to begin.")
        case .fetch: (.fetch, "a fetch", "A background fetch is due.")
        case .push: (.push, "a push", "A remote notification arrived.")
        case .region: (.region, "a region event", "The boundary of a region was crossed.")
        case .significantChange:
            (.significantChange, "a significant change of the location", "The location changed significantly.")
        case .processing: (.processing, "a processing task", "The conditions of a processing task are met.")
        case .continued:
            (.continued, "a continued task", "A continued task that you started in the app is running.")
        case .response:
            (.response, "a response to a notification", "You responded to a notification of the app.")
        }
    }
}
