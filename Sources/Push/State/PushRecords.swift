package import Foundation
package import NightshiftAPI
package import Store

/// The stored push state of one app.
package struct PushApp: Hashable, Sendable, Codable {
    package var isRegistered = false
    /// The token in hexadecimal, as issued by the gateway.
    package var token: String?
    /// The reason why there is no token, in a sentence.
    package var error: String?
    /// Whether the next token must differ from the last, because the app was removed and installed again.
    package var wantsFreshToken = false
    /// Whether the user has force-quit the app, and not started it since.
    package var isForceQuit = false

    package init() {}
}

/// The stored state of the device at its gateway.
package struct PushDevice: Hashable, Sendable, Codable {
    package var enrolment: PushStatus.Enrolment?
    /// The PEM file with the gateway's certificate authority; nil for the system's authorities.
    package var authority: String?
    /// Topics whose removal is still to be sent to the gateway.
    package var leaving: [String] = []
    package var budget: WakeBudget

    package init(now: Double) { budget = WakeBudget(now: now) }
}

/// One push, as stored. Times are seconds since 1970.
package struct KnownPush: Hashable, Sendable, Codable {
    package var record: PushRecord
    package var app: AppID
    /// A number in the order of arrival.
    package var number: Int64
    /// The expiration date; nil if the push is delivered at once or not at all.
    package var expires: Double?
    /// The identifier of its notification.
    package var identifier: String
    /// The latest time at which the notification that waits for the app is shown; nil if none waits.
    package var alertBy: Double?
    /// Whether its app is woken even during doze.
    package var isUrgent: Bool

    package var isDone: Bool { record.state != .waiting && record.state != .running }

    /// Whether its alert is the notification of the app with this identifier.
    func hasAlert(_ identifier: String, of app: AppID) -> Bool {
        record.hasAlert && self.app == app && self.identifier == identifier
    }
}

/// A wake requested for a push.
package struct PushWake: Hashable, Sendable {
    package var id: String
    package var app: AppID
    /// The key of the wake: all silent pushes of an app share one, and each other push has its own.
    package var key: String
    package var delivery: PushDelivery
    /// The seconds after which the wake is dropped unless it has begun.
    package var timeout: Double

    /// The payload of the provider as it was received.
    package var payload: Data { Data(delivery.payload.utf8) }
}

/// A notification that is written together with its push.
package struct PushAlert: Hashable, Sendable {
    package var app: AppID
    package var notification: AppNotification
    /// The time from which it is shown, in seconds since 1970; nil if it first has to be unblocked.
    package var due: Double?
}

/// A notification to unblock, because the app has finished its wake.
package struct AlertRelease: Hashable, Sendable {
    package var app: AppID
    package var identifier: String
    package var due: Double
}

/// The end of a wake, with its push.
package struct PushEnd: Hashable, Sendable {
    package var row: StoredWakeEnd
    /// The push; nil if it is no longer known.
    package var push: String?

    package init(row: StoredWakeEnd, push: String?) {
        self.row = row
        self.push = push
    }
}

/// The changes that one transaction writes.
package struct PushChanges: Sendable {
    package var removed: Set<AppID> = []
    package var apps: [AppID: PushApp] = [:]
    package var device: PushDevice?
    package var pushes: [KnownPush] = []
    /// The payloads of pushes that still need them.
    package var payloads: [String: Data] = [:]
    /// The pushes that have just arrived.
    package var received: Set<String> = []
    package var wakes: [PushWake] = []
    package var alerts: [PushAlert] = []
    package var releases: [AlertRelease] = []
    package var forgotten: [String] = []
    package var ends: [Int64] = []
    package var entries: [JournalEntry] = []

    package var isEmpty: Bool {
        removed.isEmpty && apps.isEmpty && device == nil && pushes.isEmpty && wakes.isEmpty && alerts.isEmpty
            && releases.isEmpty && forgotten.isEmpty && ends.isEmpty && entries.isEmpty
    }
}
