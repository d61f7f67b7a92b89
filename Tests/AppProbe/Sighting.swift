package import Foundation

/// An observation of a probe's delegates, which is one line of its journal.
package struct Sighting: Sendable, Codable {
    package var event: Event
    /// The number of the observation, counted from 1 in each process.
    package var number = 0
    package var process: Int32 = 0
    package var isOnMainThread = false
    /// The time of CLOCK_MONOTONIC in seconds, read directly after ``remaining`` if that is present.
    package var awakeSeconds: Double = 0
    package var session: String?
    /// The identifier of a transfer in its session, or of a background task.
    package var task: Int?
    package var description: String?
    /// The number of bytes so far, or the offset from which a download continues.
    package var bytes: Int64?
    package var expected: Int64?
    package var status: Int?
    package var domain: String?
    package var code: Int?
    /// The value of `NSURLErrorBackgroundTaskCancelledReasonKey`.
    package var reason: Int?
    package var hasResumeData: Bool?
    package var priority: Float?
    /// The value of `backgroundTimeRemaining`, for observations about background tasks.
    package var remaining: Double?
    /// A text that depends on the event: a body, a realm, the process id of a child, the reason for the refusal of a
    /// background task, or the class of a scheduled task.
    package var text: String?
    /// The cookies that the app's cookie storage has for the task's URL.
    package var cookies: [String]?
    /// The protection space of a challenge.
    package var space: ProtectionSpace?

    package enum Event: String, Sendable, Codable {
        case launched, active, resigned, background, foreground, terminating
        case handleEvents, finishedEvents, snapshot
        case known, made, begun
        case progress, sent, resumed, finishing, moved, movedAgain, body, completed, invalid
        case challenge, sessionChallenge, delayed
        case child, cancelled
        case taskBegun, taskRefused, taskEnded, taskExpired, remaining
        /// The beginning of a background fetch, and its answer, which is the text.
        case fetching, fetched
        /// The value of `backgroundRefreshStatus` at the launch and after each change: `restricted`, `denied` or
        /// `available`.
        case refreshStatus
        /// The steps of a scheduled task, with its identifier: registered or not, submitted or refused, running,
        /// expired, completed.
        case registered, notRegistered, submitted, refused, running, expired, ended
        /// The result of the registration for remote notifications. After a success, the text is the token in
        /// hexadecimal.
        case deviceToken, notRegisteredForPush
        /// A remote notification that is in the launch options, received or handled. The text is the provider's
        /// payload, or the answer of a handled notification.
        case launchedFor, received, handled
        /// The user's answer to the permission request: `granted`, `denied` or an error.
        case authorization
        /// A notification, with its identifier: added, refused with a code, about to be shown, or answered with the
        /// action in the text.
        case added, presenting, response
        /// Observations about location: the identifiers of the regions at the launch, the permission, whether a region
        /// is monitored, region events and states, and a location with latitude, longitude and accuracy.
        case regions, mayLocate, regionStarted, regionFailed, entered, left, regionState, located, locationFailed
    }

    /// The properties of a `URLProtectionSpace`.
    package struct ProtectionSpace: Sendable, Codable, Equatable {
        package var method: String
        package var host: String
        package var port: Int
        package var scheme: String?
        /// The certificates in DER. The server's own certificate is the first.
        package var certificates: [Data]?

        package init(method: String, host: String, port: Int, scheme: String?, certificates: [Data]?) {
            self.method = method
            self.host = host
            self.port = port
            self.scheme = scheme
            self.certificates = certificates
        }
    }

    package init(_ event: Event) {
        self.event = event
    }
}
