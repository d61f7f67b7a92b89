package import Foundation
package import NightshiftAPI

/// A pending wake of an app, caused by messages of a session or by a row of another source.
package struct WantedWake: Hashable, Sendable, Codable {
    package var app: AppID
    package var reason: WakeReason
    /// The subject within the source: the name that the app uses for the session, or the identifier of a region. It is
    /// empty if the source has only one reason.
    package var key: String
    /// The last message of the session, or the number of the row for another source. It grows with new events for the
    /// same key.
    package var through: Int64
    /// The data for the app, in a form that the source defines. It is nil for a session, which has messages.
    package var payload: Data?
    /// The time in boot seconds at which a wake that has not begun is dropped; nil for no limit. Once the wake has
    /// begun, this time has no meaning.
    package var expires: Double?

    package init(
        app: AppID, reason: WakeReason, key: String, through: Int64, payload: Data? = nil, expires: Double? = nil
    ) {
        self.app = app
        self.reason = reason
        self.key = key
        self.through = through
        self.payload = payload
        self.expires = expires
    }

    package var source: WakeSource { reason.source }

    /// The identity of the wake, which stays the same when a new wake replaces this one.
    package var identity: Identity { Identity(source: source, key: key) }

    package struct Identity: Hashable, Sendable {
        package var source: WakeSource
        package var key: String

        package init(source: WakeSource, key: String) {
            self.source = source
            self.key = key
        }
    }
}
