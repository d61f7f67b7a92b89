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
    /// Whether the user has force-quit the app and has not started it since.
    package var isForceQuit = false

    package init() {}
}

/// The stored state of the device's enrolment at its gateway.
package struct PushDevice: Hashable, Sendable, Codable {
    package var enrolment: PushStatus.Enrolment?
    /// The PEM file with the gateway's certificate authority; nil for the system's authorities.
    package var authority: String?
    /// The topics whose removal has not been sent to the gateway yet.
    package var leaving: [String] = []
    package var budget: WakeBudget

    package init(now: Double) { budget = WakeBudget(now: now) }
}

/// The stored state of one push. Times are seconds since 1970.
package struct KnownPush: Hashable, Sendable, Codable {
    package var record: PushRecord
    package var app: AppID
    /// The number of the push in the order of arrival.
    package var number: Int64
    /// The expiration date; nil if the push is either delivered at once or discarded.
    package var expires: Double?
    /// The identifier of the push's notification.
    package var identifier: String
    /// The alert that waits while the app handles the push; nil if no alert waits.
    package var waitingAlert: WaitingAlert?
    /// Whether the push wakes its app even during doze.
    package var isUrgent: Bool

    package var isDone: Bool { record.state != .waiting && record.state != .running }

    /// Returns whether the push's alert is the notification of an app with this identifier.
    func hasAlert(_ identifier: String, of app: AppID) -> Bool {
        record.hasAlert && self.app == app && self.identifier == identifier
    }
}

/// An alert that is shown when its app has handled the push.
package struct WaitingAlert: Hashable, Sendable, Codable {
    package var notification: AppNotification
    /// The time in seconds since 1970 at which the alert is shown even if the app is not done.
    package var deadline: Double
}

/// A wake that the push feature requests for a push.
package struct PushWake: Hashable, Sendable {
    package var id: String
    package var app: AppID
    /// The key of the wake. All silent pushes of an app share one key, and each other push has its own.
    package var key: String
    package var delivery: PushDelivery
    /// The number of seconds after which the wake is dropped if it has not begun.
    package var timeout: Double
}

/// A notification that is written in the same transaction as its push.
package struct PushAlert: Hashable, Sendable {
    package var app: AppID
    package var notification: AppNotification
    /// The time in seconds since 1970 from which the notification is shown.
    package var due: Double
}

/// The end of a wake, with the push that caused the wake.
package struct PushEnd: Hashable, Sendable {
    package var row: StoredWakeEnd
    /// The id of the push; nil if the push is no longer known.
    package var push: String?

    package init(row: StoredWakeEnd, push: String?) {
        self.row = row
        self.push = push
    }
}

/// A row that is written or deleted once.
package enum PushOutput: Hashable, Sendable {
    case wake(PushWake)
    case alert(PushAlert)
    /// The end of a wake, by its row number, was handled.
    case endTaken(Int64)
    /// The app was removed, so its rows are deleted.
    case remove(AppID)

    /// The app to which a wake or a notification belongs.
    var app: AppID? {
        switch self {
        case .wake(let wake): wake.app
        case .alert(let alert): alert.app
        case .endTaken, .remove: nil
        }
    }
}

/// The changes that one transaction writes.
package struct PushChanges: Sendable {
    package var outputs: [PushOutput]
    package var apps: [AppID: PushApp] = [:]
    package var device: PushDevice?
    package var pushes: [KnownPush] = []
    /// The payloads of pushes whose apps have not been woken yet.
    package var payloads: [String: Data] = [:]
    package var forgotten: [String] = []
    package var entries: [JournalEntry]

    package var isEmpty: Bool {
        outputs.isEmpty && apps.isEmpty && device == nil && pushes.isEmpty && forgotten.isEmpty && entries.isEmpty
    }

    /// Whether notifications were written.
    package var changesNotifications: Bool {
        outputs.contains { if case .alert = $0 { true } else { false } }
    }
}
