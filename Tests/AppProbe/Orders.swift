import Foundation

/// The orders of a probe, from the file that its first argument names. The probe reads the file at every launch.
package struct Orders: Sendable, Codable {
    /// The file to which every ``Sighting`` is appended.
    package var journal: String
    /// The folder to which finished downloads are moved. The file name is the description of the task.
    package var folder: String
    package var sessions = [SessionOrder()]
    package var transfers: [TransferOrder] = []
    package var rules: [Rule] = []
    package var backgroundTasks: [BackgroundTaskOrder] = []
    package var answer = Answer.default
    /// The user name for ``Answer/credential``.
    package var user = ""
    package var password = ""
    /// The PEM file of the client certificate for ``Answer/credential``. Without it, default handling applies to client
    /// certificates.
    package var clientCertificate: String?
    package var clientKey: String?
    package var delayed = DelayedAnswer.proceed
    /// The new URL for ``DelayedAnswer/replace``.
    package var replacement: String?
    /// The argument of `setMinimumBackgroundFetchInterval` at every launch. Nil means that the probe does not call it.
    package var fetchInterval: Double?
    package var fetch = FetchOrder()
    package var notifications = NotificationOrder()
    /// The scheduled tasks that the probe registers at every launch.
    package var scheduledTasks: [ScheduledTaskOrder] = []
    /// The order about location. Nil means that the probe makes no location manager.
    package var location: LocationOrder?
    /// Whether the probe calls the completion handlers that it receives.
    package var completes = true

    /// The answer to challenges.
    package enum Answer: String, Sendable, Codable {
        case credential, reject, cancel, `default`, never
    }

    /// The answer to delayed requests.
    package enum DelayedAnswer: String, Sendable, Codable {
        case proceed, replace, cancel, never
    }

    package init(journal: String, folder: String) {
        self.journal = journal
        self.folder = folder
    }
}
