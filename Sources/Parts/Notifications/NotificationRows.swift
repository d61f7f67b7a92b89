package import Foundation
package import NightshiftAPI
import Runtime
package import Store

extension [NotificationChange]: StateChanges {
    package func write(
        in transaction: StoreTransaction, at reading: ClockReading, each: (() throws -> Void) throws -> Void
    ) throws {
        for change in self { try each { try transaction.apply(change, reading) } }
    }
}

extension StoreTransaction {
    fileprivate func apply(_ change: NotificationChange, _ reading: ClockReading) throws {
        switch change {
        case .forget(let app): try deleteNotifications(of: app)
        case .app(let record, let app): try putNotifications(record, of: app)
        case .remove(let stored): try delete(stored)
        case .update(let stored): try update(stored)
        case .put(let stored): try put(stored)
        case .respond(let response, let app):
            // If the app has not received an earlier response to the same notification, the later response replaces it.
            try putWake(
                app, .response, key: response.notification.identifier, payload: try response.payload(), now: reading)
        case .entry(let entry): try record(entry)
        }
    }
}

extension NotificationResponse {
    /// Returns the payload for the row of the wake. If it is too large, texts that the user has already seen are
    /// shortened first. The data that the app has attached matters more.
    package func payload() throws -> Data {
        let whole = try JSON.encode(self)
        guard whole.count > Self.most else { return whole }
        var short = self
        for text in [\AppNotification.title, \.subtitle, \.body] {
            // The length of a character is not limited, but a Unicode scalar has at most four bytes.
            short.notification[keyPath: text] = String(short.notification[keyPath: text].unicodeScalars.prefix(64))
        }
        // The chosen action determines whether the app is brought to the foreground, so it is kept.
        let chosen = short.notification.actions.first { $0.identifier == action }
        short.notification.actions = chosen.map { [$0] } ?? []
        let second = try JSON.encode(short)
        guard second.count > Self.most else { return second }
        // The data is removed last. All other texts and names are already short.
        short.notification.userInfo = "{}"
        return try JSON.encode(short)
    }

    /// The size limit of a wake's payload in bytes; see `docs/limits.md`.
    static let most = 32_768
}
