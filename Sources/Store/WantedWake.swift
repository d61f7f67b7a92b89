package import Foundation
package import NightshiftAPI

/// Why an app has to be woken: by its sessions' messages, or by a row that another source has written.
package struct WantedWake: Hashable, Sendable, Codable {
    package var app: AppID
    package var reason: WakeReason
    /// What of the source it is about: the session, as the app calls it; a region's identifier; empty where the source has one
    /// reason only.
    package var key: String
    /// The last message of the session; of another source the row's number. Grows with whatever is new under the same key.
    package var through: Int64
    /// What the source has to say to the app, in its own form; nil for a session, which has messages.
    package var payload: Data?
    /// Boot seconds at which it is given up unless it has begun; nil where it waits for as long as it takes. Of one that has
    /// begun it says nothing.
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

    /// The part that stays the same when a new wake takes this one's place.
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
