package import PushProtocol

/// An event in the life of a push, as the delivery log records it.
package enum DeliveryEvent: Sendable, Hashable {
    case received
    case storedOffline
    case storedPower
    case storedPaused
    case storedOpportunistic
    /// The rate limit holds the push until this time, in milliseconds since 1970.
    case held(until: Int64)
    case rodeAlong(Company)
    case delivered
    case deliveredFromStorage
    case discarded(Discard)

    /// The traffic together with which a waiting push was sent.
    package enum Company: Sendable, Hashable {
        case push(PushID)
        case keepAlive
        case connect
    }

    package enum Discard: Sendable, Hashable {
        case unregistered
        case disabled
        case expired
        case replaced(by: PushID)
        /// The push was removed to make room for newer UnifiedPush messages.
        case evicted
        /// The sender deleted the push.
        case withdrawn
        case notConnected
        case rateLimit
        case power
        case notNow
        case busy
        case connectionEnded
    }

    /// The name of the event, as the log stores and prints it.
    package var name: String {
        switch self {
        case .received: "received"
        case .storedOffline: "stored-offline"
        case .storedPower: "stored-power"
        case .storedPaused: "stored-paused"
        case .storedOpportunistic: "stored-opportunistic"
        case .held: "held"
        case .rodeAlong: "rode-along"
        case .delivered: "delivered"
        case .deliveredFromStorage: "delivered-from-storage"
        case .discarded(let why):
            switch why {
            case .unregistered: "discarded-unregistered"
            case .disabled: "discarded-disabled"
            case .expired: "discarded-expired"
            case .replaced: "discarded-replaced"
            case .evicted: "discarded-evicted"
            case .withdrawn: "discarded-withdrawn"
            case .notConnected: "discarded-not-connected"
            case .rateLimit: "discarded-rate-limit"
            case .power: "discarded-power"
            case .notNow: "discarded-not-now"
            case .busy: "discarded-busy"
            case .connectionEnded: "discarded-connection-ended"
            }
        }
    }

    /// The detail of the event: a time in milliseconds, another push's id, or `keep-alive` or `connect`.
    package var detail: String? {
        switch self {
        case .held(let until): "\(until)"
        case .rodeAlong(.push(let id)), .discarded(.replaced(let id)): id.description
        case .rodeAlong(.keepAlive): "keep-alive"
        case .rodeAlong(.connect): "connect"
        default: nil
        }
    }

    /// Returns a sentence that describes the event to a person. `time` formats a time in milliseconds since 1970.
    package static func sentence(name: String, detail: String?, time: (Int64) -> String) -> String {
        let detail = detail ?? ""
        return switch name {
        case "received": "Received."
        case "stored-offline": "Stored: the device is offline."
        case "stored-power": "Stored: the device is saving power."
        case "stored-paused": "Stored: the device has paused this topic."
        case "stored-opportunistic": "Stored: the device receives this topic with its next exchange."
        case "held": "Held by the rate limit of silent pushes until \(Int64(detail).map(time) ?? detail)."
        case "rode-along":
            switch detail {
            case "keep-alive": "Sent along with a keep-alive."
            case "connect": "Sent when the device connected."
            default: "Sent along with \(detail)."
            }
        case "delivered": "Delivered."
        case "delivered-from-storage": "Delivered from storage."
        case "discarded-unregistered": "Discarded: the token is no longer registered."
        case "discarded-disabled": "Discarded: the device ignores this topic."
        case "discarded-expired": "Discarded: it expired."
        case "discarded-replaced": "Discarded: replaced by \(detail)."
        case "discarded-evicted": "Discarded: removed to make room for newer messages."
        case "discarded-withdrawn": "Discarded: its sender deleted it."
        case "discarded-not-connected": "Discarded: the push allows only one attempt, and the device is offline."
        case "discarded-rate-limit":
            "Discarded: the push allows only one attempt, and the rate limit of silent pushes was reached."
        case "discarded-power": "Discarded: the push allows only one attempt, and the device is saving power."
        case "discarded-not-now":
            "Discarded: the push allows only one attempt, and the device does not accept this topic now."
        case "discarded-busy":
            "Discarded: the push allows only one attempt, and the device has too many unacknowledged pushes."
        case "discarded-connection-ended":
            "Discarded: the push allows only one attempt, and the connection ended before it arrived."
        default: name
        }
    }
}
