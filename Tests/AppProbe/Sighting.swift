package import Foundation

/// One thing that a probe's delegates saw: a line of its journal.
package struct Sighting: Sendable, Codable {
    package var event: Event
    /// Counts from 1 in each process.
    package var number = 0
    package var process: Int32 = 0
    package var isOnMainThread = false
    /// Seconds of CLOCK_MONOTONIC, right behind ``remaining`` where there is one.
    package var awakeSeconds: Double = 0
    package var session: String?
    /// Of a transfer in its session, or of a background task.
    package var task: Int?
    package var description: String?
    /// Bytes so far, or the offset of a resumption.
    package var bytes: Int64?
    package var expected: Int64?
    package var status: Int?
    package var domain: String?
    package var code: Int?
    /// Of `NSURLErrorBackgroundTaskCancelledReasonKey`.
    package var reason: Int?
    package var hasResumeData: Bool?
    package var priority: Float?
    /// `backgroundTimeRemaining`, for what is about background tasks.
    package var remaining: Double?
    /// A body, a realm, the process id of a child, why a background task was refused, the class of a scheduled one.
    package var text: String?
    /// What the app's cookie storage has for the task's address.
    package var cookies: [String]?
    /// What a challenge is about.
    package var space: ProtectionSpace?

    package enum Event: String, Sendable, Codable {
        case launched, active, resigned, background, foreground, terminating
        case handleEvents, finishedEvents, snapshot
        case known, made, begun
        case progress, sent, resumed, finishing, moved, movedAgain, body, completed, invalid
        case challenge, sessionChallenge, delayed
        case child, cancelled
        case taskBegun, taskRefused, taskEnded, taskExpired, remaining
        /// Background fetches: begun, and answered; the text is the answer.
        case fetching, fetched
        /// `backgroundRefreshStatus`, at the launch and whenever it has changed: `restricted`, `denied` or `available`.
        case refreshStatus
        /// Scheduled tasks, by their identifier: registered or not, submitted or refused, running, expired, completed.
        case registered, notRegistered, submitted, refused, running, expired, ended
        /// Registered for remote notifications, with the token in hexadecimal as the text; or not.
        case deviceToken, notRegisteredForPush
        /// Remote notifications, with what the provider has sent as the text: in the launch options, received, and
        /// handled, with the answer as the text.
        case launchedFor, received, handled
        /// What the app's user says to the question for permission: `granted`, `denied` or an error.
        case authorization
        /// By the notification's identifier: added, or refused with a code; about to be shown; answered, with the
        /// action as the text.
        case added, presenting, response
        /// Location: the regions at the launch, by their identifiers; the user's word; whether a region is monitored;
        /// crossings and states; a place, as latitude, longitude and accuracy.
        case regions, mayLocate, regionStarted, regionFailed, entered, left, regionState, located, locationFailed
    }

    /// As `URLProtectionSpace` has it.
    package struct ProtectionSpace: Sendable, Codable, Equatable {
        package var method: String
        package var host: String
        package var port: Int
        package var scheme: String?
        /// In DER, the server's own first.
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
