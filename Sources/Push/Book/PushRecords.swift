package import Foundation
package import NightshiftAPI
package import Store

/// What is kept of the remote notifications of one app.
package struct PushApp: Hashable, Sendable, Codable {
    package var isRegistered = false
    /// Hexadecimal, as the gateway has given it.
    package var token: String?
    /// Why there is none, in a sentence.
    package var error: String?
    /// The next token is to be another one than the last: the app was removed and installed again.
    package var wantsFreshToken = false
    /// Its user has ended it, and not started it since.
    package var isForceQuit = false

    package init() {}
}

/// What is kept of the device at its gateway.
package struct PushDevice: Hashable, Sendable, Codable {
    package var enrolment: PushStatus.Enrolment?
    /// PEM file of the gateway's authority; the system's unless given.
    package var authority: String?
    /// Topics that the gateway is to be told are gone.
    package var leaving: [String] = []
    package var budget: WakeBudget

    package init(now: Double) { budget = WakeBudget(now: now) }
}

/// One push, as it is kept. Times are seconds since 1970.
package struct KnownPush: Hashable, Sendable, Codable {
    package var record: PushRecord
    package var app: AppID
    /// The order in which pushes came.
    package var number: Int64
    /// Nil where it is delivered at once or not at all.
    package var expires: Double?
    /// Of its notification.
    package var identifier: String
    /// When the notification that waits for the app is shown at the latest; nil where none waits.
    package var alertBy: Double?
    /// Whether its app is woken whatever the device does.
    package var isUrgent: Bool

    package var isDone: Bool { record.state != .waiting && record.state != .running }

    /// Whether a notification of the app with this identifier is its alert.
    func hasAlert(_ identifier: String, of app: AppID) -> Bool {
        record.hasAlert && self.app == app && self.identifier == identifier
    }
}

/// A wake that the book wants.
package struct PushWake: Hashable, Sendable {
    package var id: String
    package var app: AppID
    /// A name under which one wake waits for the app: all silent pushes share one, and each other push has its own.
    package var key: String
    package var delivery: PushDelivery
    /// Seconds after which it is given up unless it has begun.
    package var patience: Double

    /// The provider's object as it came.
    package var payload: Data { Data(delivery.payload.utf8) }
}

/// A notification that is written with its push.
package struct PushAlert: Hashable, Sendable {
    package var app: AppID
    package var notification: AppNotification
    /// Seconds since 1970 from which on it is shown; nil for not before it is released.
    package var due: Double?
}

/// A notification whose app has done what it was woken for.
package struct AlertRelease: Hashable, Sendable {
    package var app: AppID
    package var identifier: String
    package var due: Double
}

/// The end of a wake with the push that it was for.
package struct PushEnd: Hashable, Sendable {
    package var row: StoredWakeEnd
    /// Nil where that is not known any more.
    package var push: String?

    package init(row: StoredWakeEnd, push: String?) {
        self.row = row
        self.push = push
    }
}

/// What one transaction writes.
package struct PushChanges: Sendable {
    package var removed: Set<AppID> = []
    package var apps: [AppID: PushApp] = [:]
    package var device: PushDevice?
    package var pushes: [KnownPush] = []
    /// Of those whose payload is still wanted.
    package var payloads: [String: Data] = [:]
    /// Which of the pushes came just now.
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
