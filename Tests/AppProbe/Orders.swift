import Foundation

/// What a probe is told to do, in the file that its first argument names; read anew at every launch.
package struct Orders: Sendable, Codable {
    /// The file to whose end every ``Sighting`` is written.
    package var journal: String
    /// Finished downloads are moved here, under their task's description.
    package var folder: String
    package var sessions = [SessionOrder()]
    package var transfers: [TransferOrder] = []
    package var rules: [Rule] = []
    package var backgroundTasks: [BackgroundTaskOrder] = []
    package var answer = Answer.default
    /// Used with ``Answer/credential``.
    package var user = ""
    package var password = ""
    /// PEM files, used with ``Answer/credential``; without them a client certificate is left to the default handling.
    package var clientCertificate: String?
    package var clientKey: String?
    package var delayed = DelayedAnswer.proceed
    /// For ``DelayedAnswer/replace``.
    package var replacement: String?
    /// What it says to `setMinimumBackgroundFetchInterval` at every launch; nil: it does not call it.
    package var fetchInterval: Double?
    package var fetch = FetchOrder()
    package var notifications = NotificationOrder()
    /// Registered at every launch.
    package var scheduledTasks: [ScheduledTaskOrder] = []
    /// nil: it makes no location manager.
    package var location: LocationOrder?
    /// Whether it calls the completion handlers that it is given.
    package var completes = true

    /// How challenges are answered.
    package enum Answer: String, Sendable, Codable {
        case credential, reject, cancel, `default`, never
    }

    /// How a delayed request is answered.
    package enum DelayedAnswer: String, Sendable, Codable {
        case proceed, replace, cancel, never
    }

    package init(journal: String, folder: String) {
        self.journal = journal
        self.folder = folder
    }
}
